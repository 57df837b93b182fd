"""The published names and settings of BERT's family, in our words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deepdive.layers import gelu, gelu_tanh, relu
from deepdive.layers.feed_forward import Activation
from deepdive.published.weights import Join, Rule, check_config

# The layers, as BertModel and RobertaModel name them.
LAYERS: tuple[Rule, ...] = (
    (r"\.gamma$", ".weight"),  # norms in files that were converted from TensorFlow
    (r"\.beta$", ".bias"),
    (r"\bencoder\.layer\.", "stack.blocks."),
    (r"\.attention\.self\.query\.", ".attn.q."),
    Join((r"\.attention\.self\.key\.", r"\.attention\.self\.value\."), ".attn.kv."),
    (r"\.attention\.output\.dense\.", ".attn.out."),
    (r"\.attention\.output\.LayerNorm\.", ".attn_residual.norm."),
    (r"\.intermediate\.dense\.", ".ff.inner."),
    (r"\.output\.dense\.", ".ff.out."),
    (r"\.output\.LayerNorm\.", ".ff_residual.norm."),
)
EMBEDDINGS: tuple[Rule, ...] = (
    (r"\bembeddings\.word_embeddings\.", "embeddings.tokens."),
    (r"\bembeddings\.position_embeddings\.", "embeddings.position.table."),
    (r"\bembeddings\.token_type_embeddings\.", "embeddings.segments."),
    (r"\bembeddings\.LayerNorm\.", "embeddings.norm."),
)
NAMES: tuple[Rule, ...] = ((r"^bert\.", ""), *EMBEDDINGS, *LAYERS)
PRETRAINING: tuple[Rule, ...] = (
    *EMBEDDINGS,
    *LAYERS,
    (r"^bert\.pooler\.", "pooler."),
    (r"^cls\.predictions\.transform\.LayerNorm\.", "masked.norm."),
    (r"^cls\.predictions\.transform\.dense\.", "masked.dense."),
    (r"^cls\.predictions\.bias$", "masked.head.bias"),
    (r"^cls\.predictions\.decoder\.weight$", "masked.head.embedding.weight"),
    (r"^cls\.seq_relationship\.", "next."),
)

# What a file may hold beside the encoder, name by name.
COUNTED = ("embeddings.position_ids", "bert.embeddings.position_ids")  # 0, 1, 2 ..., not learned
POOLER = tuple(
    f"{model}pooler.dense.{kind}" for model in ("", "bert.") for kind in ("weight", "bias")
)
AGAIN = ("cls.predictions.decoder.bias",)  # cls.predictions.bias under a second name
HEADS = (
    *(f"cls.predictions.transform.{part}" for part in ("dense.weight", "dense.bias")),
    *(f"cls.predictions.transform.LayerNorm.{k}" for k in ("weight", "bias", "gamma", "beta")),
    "cls.predictions.bias",
    "cls.predictions.decoder.weight",
    *AGAIN,
    *(f"{head}.{k}" for head in ("cls.seq_relationship", "classifier", "qa_outputs")
      for k in ("weight", "bias")),
)  # fmt: skip

ACTIVATIONS: dict[str, Activation] = {
    "gelu": gelu,
    "gelu_new": gelu_tanh,
    "gelu_pytorch_tanh": gelu_tanh,
    "relu": relu,
}
# Settings that change the function, and the only value that is built here.
EXPECTED: dict[str, Any] = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}


def activation_of(name: str) -> Activation:
    """Return the activation that a config.json names. Raises ValueError for one unknown here."""
    if name not in ACTIVATIONS:
        raise ValueError(
            f"config names the activation {name!r}; expected one of {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[name]


def numbers(config: Mapping[str, Any], model_type: str) -> dict[str, Any]:
    """Return the arguments that a config.json gives `bert(...)`, whose names it has."""
    check_config(config, model_type, EXPECTED)
    return {
        "vocab_size": config["vocab_size"],
        "d_model": config["hidden_size"],
        "n_heads": config["num_attention_heads"],
        "n_layers": config["num_hidden_layers"],
        "d_ff": config["intermediate_size"],
        "max_length": config["max_position_embeddings"],
        "n_segments": config["type_vocab_size"],
        "dropout": config["hidden_dropout_prob"],
        "attention_dropout": config["attention_probs_dropout_prob"],
        "eps": config["layer_norm_eps"],
        "activation": activation_of(config["hidden_act"]),
    }

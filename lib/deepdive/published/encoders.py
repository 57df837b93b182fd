"""BERT's family, one table each: settings, names of weights, heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from deepdive.attention import FirstBlock
from deepdive.models.bert import albert, bert, distilbert, pretraining, roberta
from deepdive.models.efficient import bigbird, fnet, longformer, nystromformer, roformer, yoso
from deepdive.published.form import Family, Head, Setting, activation
from deepdive.published.names import Names


def _beyond(unused: int) -> Setting:
    """The length of a table of positions whose first rows are not used."""
    key = "max_position_embeddings"
    return Setting(key, lambda length: length - unused, lambda length: length + unused)


SETTINGS: dict[str, str | Setting] = {
    "vocab_size": "vocab_size",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "d_ff": "intermediate_size",
    "max_length": "max_position_embeddings",
    "n_segments": "type_vocab_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "eps": "layer_norm_eps",
    "activation": activation("hidden_act"),
}
EMBEDDINGS = Names(
    {
        "embeddings.word_embeddings": "embeddings.tokens",
        "embeddings.position_embeddings": "embeddings.position.table",
        "embeddings.token_type_embeddings": "embeddings.segments",
        "embeddings.LayerNorm": "embeddings.norm",
    }
)
LAYER = "encoder.layer.{}"
LAYERS = Names(
    {
        f"{LAYER}.attention.self.query": "stack.blocks.{}.attn.q",
        (
            f"{LAYER}.attention.self.key",
            f"{LAYER}.attention.self.value",
        ): "stack.blocks.{}.attn.kv",
        f"{LAYER}.attention.output.dense": "stack.blocks.{}.attn.out",
        f"{LAYER}.attention.output.LayerNorm": "stack.blocks.{}.attn_residual.norm",
        f"{LAYER}.intermediate.dense": "stack.blocks.{}.ff.inner",
        f"{LAYER}.output.dense": "stack.blocks.{}.ff.out",
        f"{LAYER}.output.LayerNorm": "stack.blocks.{}.ff_residual.norm",
    }
)
MASKED = Names(
    {
        "cls.predictions.transform.dense": "masked.dense",
        "cls.predictions.transform.LayerNorm": "masked.norm",
        "cls.predictions.bias": "masked.head.bias",
        "cls.predictions.decoder.weight": "masked.head.embedding.weight",
    }
)
# Files hold counted positions, heads for tasks, and under "cls" biases under a second name.
UNUSED = ("embeddings.position_ids", "embeddings.token_type_ids", "pooler.", "cls.", "lm_head.",
          "classifier.", "qa_outputs.")  # fmt: skip

BERT = Family(
    model_type="bert",
    architecture="BertModel",
    build=bert.bert,
    base=bert.BASE,
    settings=SETTINGS,
    names=EMBEDDINGS | LAYERS,
    prefix="bert.",
    expected={
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
    },
    unused=UNUSED,
    older=((r"\.gamma$", ".weight"), (r"\.beta$", ".bias")),  # converted from TensorFlow
    heads={
        "masked_lm": Head("BertForMaskedLM", pretraining.for_masked_lm, MASKED),
        "pretraining": Head(
            "BertForPreTraining",
            pretraining.for_pretraining,
            MASKED | Names({"bert.pooler": "pooler", "cls.seq_relationship": "next"}),
        ),
    },
)


ROBERTA = replace(
    BERT,
    model_type="roberta",
    architecture="RobertaModel",
    build=roberta.roberta,
    base=roberta.BASE,
    settings=SETTINGS | {"max_length": _beyond(2)},
    prefix="roberta.",
    expected={"pad_token_id": 1, **BERT.expected},
    heads={
        "masked_lm": Head(
            "RobertaForMaskedLM",
            pretraining.for_masked_lm,
            Names(
                {
                    "lm_head.dense": "masked.dense",
                    "lm_head.layer_norm": "masked.norm",
                    "lm_head.bias": "masked.head.bias",
                    "lm_head.decoder.weight": "masked.head.embedding.weight",
                }
            ),
        )
    },
)
GROUP = "encoder.albert_layer_groups.0.albert_layers.0"
ALBERT = replace(
    BERT,
    model_type="albert",
    architecture="AlbertModel",
    build=albert.albert,
    base=albert.BASE,
    settings=SETTINGS | {"d_embedding": "embedding_size"},
    expected={"num_hidden_groups": 1, "inner_group_num": 1, **BERT.expected},
    names=EMBEDDINGS
    | Names(
        {
            "encoder.embedding_hidden_mapping_in": "embeddings.project",
            f"{GROUP}.attention.query": "stack.blocks.0.attn.q",
            (f"{GROUP}.attention.key", f"{GROUP}.attention.value"): "stack.blocks.0.attn.kv",
            f"{GROUP}.attention.dense": "stack.blocks.0.attn.out",
            f"{GROUP}.attention.LayerNorm": "stack.blocks.0.attn_residual.norm",
            f"{GROUP}.ffn": "stack.blocks.0.ff.inner",
            f"{GROUP}.ffn_output": "stack.blocks.0.ff.out",
            f"{GROUP}.full_layer_layer_norm": "stack.blocks.0.ff_residual.norm",
        }
    ),
    prefix="albert.",
    unused=(*UNUSED, "predictions.", "sop_classifier."),
    heads={
        "pretraining": Head(
            "AlbertForPreTraining",
            albert.for_pretraining,
            Names(
                {
                    "predictions.dense": "masked.dense",
                    "predictions.LayerNorm": "masked.norm",
                    "predictions.bias": "masked.head.bias",
                    "predictions.decoder.weight": "masked.head.embedding.weight",
                    "albert.pooler": "pooler.dense",
                    "sop_classifier.classifier": "next",
                }
            ),
        )
    },
)
PAIR = "transformer.layer.{}"
DISTILBERT = replace(
    BERT,
    model_type="distilbert",
    architecture="DistilBertModel",
    build=distilbert.distilbert,
    base=distilbert.BASE,
    settings={
        "vocab_size": "vocab_size",
        "d_model": "dim",
        "n_heads": "n_heads",
        "n_layers": "n_layers",
        "d_ff": "hidden_dim",
        "max_length": "max_position_embeddings",
        "dropout": "dropout",
        "attention_dropout": "attention_dropout",
        "activation": activation("activation"),
    },
    names=EMBEDDINGS
    | Names(
        {
            f"{PAIR}.attention.q_lin": "stack.blocks.{}.attn.q",
            (f"{PAIR}.attention.k_lin", f"{PAIR}.attention.v_lin"): "stack.blocks.{}.attn.kv",
            f"{PAIR}.attention.out_lin": "stack.blocks.{}.attn.out",
            f"{PAIR}.sa_layer_norm": "stack.blocks.{}.attn_residual.norm",
            f"{PAIR}.ffn.lin1": "stack.blocks.{}.ff.inner",
            f"{PAIR}.ffn.lin2": "stack.blocks.{}.ff.out",
            f"{PAIR}.output_layer_norm": "stack.blocks.{}.ff_residual.norm",
        }
    ),
    prefix="distilbert.",
    unused=(*UNUSED, "vocab_", "pre_classifier."),
    heads={
        "masked_lm": Head(
            "DistilBertForMaskedLM",
            pretraining.for_masked_lm,
            Names(
                {
                    "vocab_transform": "masked.dense",
                    "vocab_layer_norm": "masked.norm",
                    "vocab_projector.bias": "masked.head.bias",
                    "vocab_projector.weight": "masked.head.embedding.weight",
                }
            ),
        )
    },
)
LONGFORMER = replace(
    ROBERTA,
    model_type="longformer",
    architecture="LongformerModel",
    build=longformer.longformer,
    base=longformer.BASE,
    settings=SETTINGS
    | {"max_length": _beyond(2)}
    | {
        "window": Setting(
            "attention_window", lambda w: tuple(w) if isinstance(w, list) else w, lambda w: w
        )
    },
    names=EMBEDDINGS
    | LAYERS
    | Names(
        {
            f"{LAYER}.attention.self.query_global": "stack.blocks.{}.attn.global_q",
            (
                f"{LAYER}.attention.self.key_global",
                f"{LAYER}.attention.self.value_global",
            ): "stack.blocks.{}.attn.global_kv",
        }
    ),
    prefix="longformer.",
    heads={},
)


def _first_block(n_random: int, layer: int) -> FirstBlock:
    """The published code draws no block in evaluation: it takes the first one each time."""
    return FirstBlock(n_random)


BIG_BIRD = replace(
    BERT,
    model_type="big_bird",
    architecture="BigBirdModel",
    build=bigbird.bigbird,
    base=bigbird.BASE.but(draw=_first_block),
    settings=SETTINGS | {"block_size": "block_size", "n_random": "num_random_blocks"},
    expected={"attention_type": "block_sparse", "use_bias": True, "rescale_embeddings": False},
    heads={},
)
FNET = replace(
    BERT,
    model_type="fnet",
    architecture="FNetModel",
    build=fnet.fnet,
    base=fnet.BASE,
    settings={k: v for k, v in SETTINGS.items() if k not in ("n_heads", "attention_dropout")},
    names=EMBEDDINGS
    | LAYERS
    | Names(
        {
            "embeddings.projection": "embeddings.project",
            f"{LAYER}.fourier.output.LayerNorm": "stack.blocks.{}.attn_residual.norm",
        }
    ),
    prefix="fnet.",
    heads={},
)
# The published code of these two has a dropout of the weights, and never applies it.
WITHOUT_DROPOUT = {k: v for k, v in SETTINGS.items() if k != "attention_dropout"}
CONVOLUTION = Names(
    {f"{LAYER}.attention.self.conv": "stack.blocks.{}.attn.mechanism.convolution"},
    {
        "stack.blocks.{}.attn.mechanism.convolution": (
            lambda kernel: kernel.flatten(1),  # (H, 1, kernel, 1) -> (H, kernel)
            lambda kernel: kernel[:, None, :, None],
        )
    },
)


def _landmarks(config: Any, theirs: Mapping[str, Any]) -> Any:
    """Landmarks are means of the text that comes, whatever its length. Where theirs are as many as
    `segment_means_seq_len`, the published model is full attention, and so is this one.
    """
    if theirs.get("inv_coeff_init_option"):
        raise ValueError(
            "config has inv_coeff_init_option=True; only False, one start for the whole batch, is "
            "built here: give NystromAttention start=by_head yourself"
        )
    if config.n_landmarks == theirs.get("segment_means_seq_len"):
        return config.but(n_landmarks=max(config.n_landmarks, config.max_length))
    return config


NYSTROMFORMER = replace(
    BERT,
    model_type="nystromformer",
    architecture="NystromformerModel",
    build=nystromformer.nystromformer,
    base=nystromformer.BASE,
    settings=WITHOUT_DROPOUT
    | {
        "n_landmarks": "num_landmarks",
        "kernel": "conv_kernel_size",
    },
    names=EMBEDDINGS | LAYERS | CONVOLUTION,
    prefix="nystromformer.",
    finish=_landmarks,
    heads={},
)
YOSO = replace(
    NYSTROMFORMER,
    model_type="yoso",
    architecture="YosoModel",
    build=yoso.yoso,
    base=yoso.BASE,
    settings=WITHOUT_DROPOUT | {"bits": "hash_code_len", "kernel": "conv_window"},
    prefix="yoso.",
    finish=lambda config, theirs: config,
)
ROFORMER = replace(
    BERT,
    model_type="roformer",
    architecture="RoFormerModel",
    build=roformer.roformer,
    base=roformer.BASE,
    settings={k: v for k, v in SETTINGS.items() if k != "max_length"}
    | {"d_embedding": "embedding_size"},
    expected={"rotary_value": False, **BERT.expected},
    names=EMBEDDINGS | LAYERS | Names({"embeddings_project": "embeddings.project"}),
    prefix="roformer.",
    unused=(*UNUSED, "encoder.embed_positions."),  # computed here
    heads={"masked_lm": Head("RoFormerForMaskedLM", pretraining.for_masked_lm, MASKED)},
)
FAMILIES: dict[str, Family] = {
    one.model_type: one
    for one in (
        *(BERT, ROBERTA, ALBERT, DISTILBERT, LONGFORMER, BIG_BIRD, FNET, NYSTROMFORMER),
        *(YOSO, ROFORMER),
    )
}

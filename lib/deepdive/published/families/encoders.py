"""BERT and encoders with similar names: config settings, name tables, heads."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from deepdive.attention import FirstBlock
from deepdive.models.bert import albert, bert, distilbert, pretraining, roberta
from deepdive.models.efficient import bigbird, fnet, longformer, nystromformer, roformer, yoso
from deepdive.models.multilingual import ernie_m
from deepdive.published.form import Family, Head, Setting, activation
from deepdive.published.names import Names, Pairs


def beyond(unused: int) -> Setting:
    """Return the setting of a position table's length whose first `unused` rows are not used."""
    key = "max_position_embeddings"
    return Setting(key, lambda length: length - unused, lambda length: length + unused)


# The size settings' names in most families.
SIZES: dict[str, str | Setting] = {
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "d_ff": "intermediate_size",
}
SETTINGS: dict[str, str | Setting] = {
    "vocab_size": "vocab_size",
    **SIZES,
    "max_length": "max_position_embeddings",
    "n_segments": "type_vocab_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": Setting("attention_probs_dropout_prob", written="weights_dropout"),
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


def layer(theirs: str, parts: str, ours: str = "stack.blocks.{}") -> Names:
    """Return the name table of a layer from their names of its query, key, value, output
    projection, norm, first and second feed-forward matrix, and norm, in this order.
    """
    q, k, v, *rest = (f"{theirs}.{part}" for part in parts.split())
    after = ("attn.out", "attn_residual.norm", "ff.inner", "ff.out", "ff_residual.norm")
    pairs: Pairs = dict(zip(rest, (f"{ours}.{name}" for name in after), strict=True))
    return Names({q: f"{ours}.attn.q", (k, v): f"{ours}.attn.kv", **pairs})


def masked(parts: str, theirs: str = "") -> Names:
    """Return the name table of an MLM head: its matrix, norm, bias, and tied embedding."""
    ours = ("dense", "norm", "head.bias", "head.embedding.weight")
    names = zip(parts.split(), ours, strict=True)
    return Names({theirs + part: f"masked.{name}" for part, name in names})


def is_masked_lm(
    name: str, names: Names, build: Callable[[Any], nn.Module] = pretraining.for_masked_lm
) -> dict[str, Head]:
    return {"masked_lm": Head(f"{name}ForMaskedLM", build, names)}


PARTS = (
    "attention.self.query attention.self.key attention.self.value attention.output.dense "
    "attention.output.LayerNorm intermediate.dense output.dense output.LayerNorm"
)
LAYERS = layer(LAYER, PARTS)
MASKED = masked("transform.dense transform.LayerNorm bias decoder.weight", "cls.predictions.")
# Files contain position ids, task heads, and under "cls" duplicate names of biases.
UNUSED = ("embeddings.position_ids", "embeddings.token_type_ids", "pooler.", "cls.", "lm_head.",
          "classifier.", "qa_outputs.")  # fmt: skip

BERT = Family(
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
    heads=is_masked_lm("Bert", MASKED)
    | {
        "pretraining": Head(
            "BertForPreTraining",
            pretraining.for_pretraining,
            MASKED | {"bert.pooler": "pooler", "cls.seq_relationship": "next"},
        )
    },
)


def like(
    parent: Family, name: str, build: Callable[[Any], nn.Module], base: Any, **changes: Any
) -> Family:
    """Return the family of the transformers classes `name`...: its parent's, without heads, with
    these changes.
    """
    own = {"architecture": f"{name}Model", "prefix": f"{base.family}.", "heads": {}}
    return replace(parent, build=build, base=base, **own | changes)


ROBERTA = like(
    BERT,
    "Roberta",
    roberta.roberta,
    roberta.BASE,
    settings=SETTINGS | {"max_length": beyond(2)},
    expected={"pad_token_id": 1, **BERT.expected},
    heads=is_masked_lm("Roberta", masked("dense layer_norm bias decoder.weight", "lm_head.")),
)
ALBERT = like(
    BERT,
    "Albert",
    albert.albert,
    albert.BASE,
    settings=SETTINGS | {"d_embedding": "embedding_size"},
    expected={"num_hidden_groups": 1, "inner_group_num": 1, **BERT.expected},
    names=EMBEDDINGS
    | {"encoder.embedding_hidden_mapping_in": "embeddings.project"}
    | layer(
        "encoder.albert_layer_groups.0.albert_layers.0",
        "attention.query attention.key attention.value attention.dense attention.LayerNorm ffn "
        "ffn_output full_layer_layer_norm",
        "stack.blocks.0",
    ),
    unused=(*UNUSED, "predictions.", "sop_classifier."),
    heads={
        "pretraining": Head(
            "AlbertForPreTraining",
            albert.for_pretraining,
            masked("dense LayerNorm bias decoder.weight", "predictions.")
            | {"albert.pooler": "pooler.dense", "sop_classifier.classifier": "next"},
        )
    },
)
DISTILBERT = like(
    BERT,
    "DistilBert",
    distilbert.distilbert,
    distilbert.BASE,
    settings={
        "vocab_size": "vocab_size",
        "d_model": "dim",
        "n_heads": "n_heads",
        "n_layers": "n_layers",
        "d_ff": "hidden_dim",
        "max_length": "max_position_embeddings",
        "dropout": "dropout",
        "attention_dropout": Setting("attention_dropout", written="weights_dropout"),
        "activation": activation("activation"),
    },
    names=EMBEDDINGS
    | layer(
        "transformer.layer.{}",
        "attention.q_lin attention.k_lin attention.v_lin attention.out_lin sa_layer_norm ffn.lin1 "
        "ffn.lin2 output_layer_norm",
    ),
    unused=(*UNUSED, "vocab_", "pre_classifier."),
    heads=is_masked_lm(
        "DistilBert", masked("transform layer_norm projector.bias projector.weight", "vocab_")
    ),
)
LONGFORMER = like(
    ROBERTA,
    "Longformer",
    longformer.longformer,
    longformer.BASE,
    settings={
        **ROBERTA.settings,
        "window": Setting("attention_window", lambda w: tuple(w) if isinstance(w, list) else w),
    },
    names=EMBEDDINGS
    | LAYERS
    | {
        f"{LAYER}.attention.self.query_global": "stack.blocks.{}.attn.global_q",
        (
            f"{LAYER}.attention.self.key_global",
            f"{LAYER}.attention.self.value_global",
        ): "stack.blocks.{}.attn.global_kv",
    },
)


def _first_block(n_random: int, layer: int) -> FirstBlock:
    """Return the published code's choice in evaluation: the first block, not a random one."""
    return FirstBlock(n_random)


BIG_BIRD = like(
    BERT,
    "BigBird",
    bigbird.bigbird,
    bigbird.BASE.but(draw=_first_block),
    prefix="bert.",
    settings=SETTINGS | {"block_size": "block_size", "n_random": "num_random_blocks"},
    expected={"attention_type": "block_sparse", "use_bias": True, "rescale_embeddings": False},
)
FNET = like(
    BERT,
    "FNet",
    fnet.fnet,
    fnet.BASE,
    settings={k: v for k, v in SETTINGS.items() if k not in ("n_heads", "attention_dropout")},
    names=EMBEDDINGS
    | LAYERS
    | {
        "embeddings.projection": "embeddings.project",
        f"{LAYER}.fourier.output.LayerNorm": "stack.blocks.{}.attn_residual.norm",
    },
)
# The published code of these two has an attention dropout, but never applies it.
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
    """Return a config for full attention if there are `segment_means_seq_len` landmarks, as in the
    published model. Ours are means of segments of the actual text, of any length.
    """
    if theirs.get("inv_coeff_init_option"):
        raise ValueError(
            "config has inv_coeff_init_option=True; only False, one initial value per batch, is "
            "supported: pass start=by_head to NystromAttention yourself"
        )
    if config.n_landmarks == config.segment_length:
        return config.but(n_landmarks=max(config.n_landmarks, config.max_length))
    return config


def _their_landmarks(config: Any) -> dict[str, int]:
    """Invert `_landmarks`: full attention has `segment_means_seq_len` landmarks."""
    length = config.segment_length or config.max_length + config.unused_positions
    full = config.n_landmarks >= config.max_length
    return {
        "num_landmarks": length if full else config.n_landmarks,
        "segment_means_seq_len": length,
    }


NYSTROMFORMER = like(
    BERT,
    "Nystromformer",
    nystromformer.nystromformer,
    nystromformer.BASE,
    settings=WITHOUT_DROPOUT
    | {"n_landmarks": "num_landmarks", "kernel": "conv_kernel_size"}
    | {"segment_length": "segment_means_seq_len"},
    names=EMBEDDINGS | LAYERS | CONVOLUTION,
    finish=_landmarks,
    derived=_their_landmarks,
)
YOSO = like(
    BERT,
    "Yoso",
    yoso.yoso,
    yoso.BASE,
    settings=WITHOUT_DROPOUT | {"bits": "hash_code_len", "kernel": "conv_window"},
    names=NYSTROMFORMER.names,
)
ROFORMER = like(
    BERT,
    "RoFormer",
    roformer.roformer,
    roformer.BASE,
    settings={k: v for k, v in SETTINGS.items() if k != "max_length"}
    | {"d_embedding": "embedding_size"},
    expected={"rotary_value": False, **BERT.expected},
    names=EMBEDDINGS | LAYERS | {"embeddings_project": "embeddings.project"},
    unused=(*UNUSED, "encoder.embed_positions."),  # computed here
    heads=is_masked_lm("RoFormer", MASKED),
)
ERNIE_M = like(  # in transformers until 4.57
    BERT,
    "ErnieM",
    ernie_m.ernie_m,
    ernie_m.BASE,
    settings={k: v for k, v in SETTINGS.items() if k != "n_segments"} | {"max_length": beyond(2)},
    expected={"pad_token_id": 1, **BERT.expected},
    names=EMBEDDINGS
    | {"embeddings.layer_norm": "embeddings.norm"}
    | layer(
        "encoder.layers.{}",
        "self_attn.self_attn.q_proj self_attn.self_attn.k_proj self_attn.self_attn.v_proj "
        "self_attn.out_proj norm1 linear1 linear2 norm2",
    ),
)
FAMILIES = (
    *(BERT, ROBERTA, ALBERT, DISTILBERT, LONGFORMER, BIG_BIRD, FNET, NYSTROMFORMER),
    *(YOSO, ROFORMER, ERNIE_M),
)

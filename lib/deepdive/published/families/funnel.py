"""Funnel-Transformer: config settings and name table; with a decoder (`FunnelModel`) and without
(`FunnelBaseModel`).
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from deepdive.models.efficient import funnel
from deepdive.published.form import Family, Setting, activation
from deepdive.published.names import Names, Pairs


def _layer(theirs: str, ours: str) -> Pairs:
    attention, attn = f"{theirs}.attention", f"{ours}.attn"
    return {
        f"{attention}.q_head": f"{attn}.q",
        (f"{attention}.k_head", f"{attention}.v_head"): f"{attn}.kv",
        f"{attention}.post_proj": f"{attn}.out",
        f"{attention}.r_kernel": f"{attn}.position.W.weight",
        f"{attention}.r_w_bias": f"{attn}.position.u",
        f"{attention}.r_r_bias": f"{attn}.position.v",
        f"{attention}.r_s_bias": f"{attn}.segments.w",
        f"{attention}.seg_embed": f"{attn}.segments.e",
        f"{attention}.layer_norm": f"{ours}.attn_residual.norm",
        f"{theirs}.ffn.linear_1": f"{ours}.ff.inner",
        f"{theirs}.ffn.linear_2": f"{ours}.ff.out",
        f"{theirs}.ffn.layer_norm": f"{ours}.ff_residual.norm",
    }


PLACES = {"encoder.blocks.{}.{}": "blocks.{}.{}", "decoder.layers.{}": "decoder.{}"}


def names(config: funnel.FunnelConfig) -> Names:
    """Return the name table. Their matrix of positions is (d_model, H, d_head), and their first
    segment embedding is that of different segments.
    """
    pairs: Pairs = {"embeddings.word_embeddings": "tokens", "embeddings.layer_norm": "norm"}
    layouts = {}
    for theirs, ours in PLACES.items():
        pairs |= _layer(theirs, ours)
        layouts[f"{ours}.attn.position.W.weight"] = (
            lambda kernel: kernel.flatten(1).T,
            lambda W: W.T.unflatten(1, (config.n_heads, config.d_head)),
        )
        layouts[f"{ours}.attn.segments.e"] = (lambda e: e.flip(0), lambda e: e.flip(0))
    return Names(pairs, layouts)


def _finish(config: funnel.FunnelConfig, theirs: Mapping[str, Any]) -> funnel.FunnelConfig:
    """Raise ValueError for repeated layers; FunnelBaseModel has no decoder."""
    repeats = theirs.get("block_repeats")
    if repeats is not None and set(repeats) != {1}:
        raise ValueError(f"config has block_repeats={repeats}; only 1 for each block is supported")
    base = "FunnelBaseModel" in (theirs.get("architectures") or [])
    return config.but(n_decoder_layers=None) if base else config


def _fit(config: funnel.FunnelConfig, tensors: Mapping[str, Tensor]) -> funnel.FunnelConfig:
    """Leave out the decoder if the file has none."""
    has = any("decoder.layers." in name for name in tensors) or not config.n_decoder_layers
    return config if has else config.but(n_decoder_layers=None)


FUNNEL = Family(
    architecture="FunnelModel",
    build=funnel.funnel,
    base=funnel.SMALL,
    settings={
        "vocab_size": "vocab_size",
        "d_model": "d_model",
        "n_heads": "n_head",
        "d_head": "d_head",
        "d_ff": "d_inner",
        "block_sizes": Setting("block_sizes", tuple, list),
        "n_decoder_layers": Setting("num_decoder_layers", theirs=lambda n: n or 0),
        "dropout": "hidden_dropout",
        "attention_dropout": "attention_dropout",
        "activation_dropout": "activation_dropout",
        "eps": "layer_norm_eps",
        "activation": activation("hidden_act"),
        "separate_cls": "separate_cls",
        "truncate": "truncate_seq",
    },
    expected={"pooling_type": "mean", "attention_type": "relative_shift", "pool_q_only": True},
    names=names,
    prefix="funnel.",
    unused=("discriminator_predictions.", "lm_head.", "classifier.", "qa_outputs."),
    finish=_finish,
    fit=_fit,
    derived=lambda config: (
        {"architectures": ["FunnelBaseModel"]} if config.n_decoder_layers is None else {}
    ),
)
FAMILIES = (FUNNEL,)

"""Llama's family: settings, names of weights, and how its files lay out what is turned."""

from collections.abc import Mapping
from typing import Any

import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from deepdive.layers.feed_forward import Activation
from deepdive.models.text import llama
from deepdive.models.text.llama_config import LlamaConfig
from deepdive.positions import RopeScaling
from deepdive.published.form import Family, Setting, activation_of, name_of
from deepdive.published.names import Layout, Names

SCALINGS = {
    "linear": {"factor": "factor"},
    "llama3": {
        "factor": "factor", "low": "low_freq_factor", "high": "high_freq_factor",
        "original": "original_max_position_embeddings",
    },
}  # fmt: skip
LAYER, OURS = "model.layers.{}", "decoder.stack.blocks.{}"


def paired(n_heads: int) -> Layout:
    """The two ways between their rows of W_q, in which entry i of a head is turned with entry
    i + d_head / 2, and ours, in which 2i is turned with 2i + 1: the same rows in another order.
    """

    def to_ours(rows: Tensor) -> Tensor:
        return rearrange(rows, "(h two i) ... -> (h i two) ...", h=n_heads, two=2)

    def to_theirs(rows: Tensor) -> Tensor:
        return rearrange(rows, "(h i two) ... -> (h two i) ...", h=n_heads, two=2)

    return to_ours, to_theirs


def paired_keys(n_kv_heads: int) -> Layout:
    """`paired` for the rows of W_k, which stand above those of W_v, which are not turned."""
    to_ours, to_theirs = paired(n_kv_heads)

    def first_half(rows: Tensor, change: Any) -> Tensor:
        keys, values = rows.chunk(2)
        return rearrange([change(keys), values], "two r ... -> (two r) ...")

    return lambda rows: first_half(rows, to_ours), lambda rows: first_half(rows, to_theirs)


def _names(config: LlamaConfig) -> Names:
    attention, ff = f"{LAYER}.self_attn", f"{LAYER}.mlp"
    return Names(
        {
            "model.embed_tokens": "decoder.embedding",
            f"{attention}.q_proj": f"{OURS}.attn.q",
            (f"{attention}.k_proj", f"{attention}.v_proj"): f"{OURS}.attn.kv",
            f"{attention}.o_proj": f"{OURS}.attn.out",
            f"{ff}.gate_proj": f"{OURS}.ff.gate",
            f"{ff}.up_proj": f"{OURS}.ff.inner",
            f"{ff}.down_proj": f"{OURS}.ff.out",
            f"{LAYER}.input_layernorm": f"{OURS}.attn_residual.norm",
            f"{LAYER}.post_attention_layernorm": f"{OURS}.ff_residual.norm",
            "model.norm": "decoder.stack.norm",
            "lm_head": "head.embedding" if config.tied else "head",
        },
        {
            f"{OURS}.attn.q": paired(config.n_heads),
            f"{OURS}.attn.kv": paired_keys(config.kv_heads),
        },
    )


def _rotary(config: LlamaConfig, theirs: Mapping[str, Any]) -> LlamaConfig:
    """Read the base and the scaling of the angles where old files have them, and where new ones do.
    Raises ValueError for a scaling that is not built here.
    """
    stretched, new = theirs.get("rope_scaling") or {}, theirs.get("rope_parameters") or {}
    scaling = None
    for told in (stretched, new):
        kind = told.get("rope_type", told.get("type", "default"))
        if kind not in ("default", *SCALINGS):
            raise ValueError(
                f"config has rotary angles of type {kind!r}; built here: default, "
                f"{', '.join(SCALINGS)}"
            )
        if kind != "default":
            keys = SCALINGS[kind]
            if missing := [key for key in keys.values() if key not in told]:
                raise ValueError(f"config has rotary angles of type {kind!r} without {missing[0]}")
            scaling = RopeScaling(**{ours: told[key] for ours, key in keys.items()})
    base = new.get("rope_theta", theirs.get("rope_theta", 10_000.0))
    if type(base) not in (int, float) or not 0 < base < float("inf"):
        raise ValueError(f"config has rope_theta={base!r}; expected a number above 0")
    return config.but(base=float(base), scaling=scaling)


def _angles(config: LlamaConfig) -> dict[str, Any]:
    """Return the settings of the angles, as new files have them."""
    told: dict[str, Any] = {"rope_theta": config.base, "rope_type": "default"}
    if config.scaling is not None:
        told["rope_type"] = "linear" if config.scaling.low is None else "llama3"
        keys = SCALINGS[told["rope_type"]]
        told |= {key: getattr(config.scaling, ours) for ours, key in keys.items()}
    return told


def _activation(ours: Activation) -> str:
    """Return the name of an activation; this family says silu, where others say swish."""
    return "silu" if ours is F.silu else name_of(ours)


LLAMA = Family(
    model_type="llama",
    architecture="LlamaForCausalLM",
    build=llama.llama,
    base=llama.BASE,
    settings={
        "vocab_size": "vocab_size",
        "d_model": "hidden_size",
        "n_heads": "num_attention_heads",
        "n_kv_heads": Setting("num_key_value_heads", written="kv_heads"),
        "d_head": Setting("head_dim", written="width"),
        "n_layers": "num_hidden_layers",
        "d_ff": "intermediate_size",
        "max_length": "max_position_embeddings",
        "eps": "rms_norm_eps",
        "activation": Setting("hidden_act", activation_of, _activation),
        "dropout": "attention_dropout",
        "tied": "tie_word_embeddings",
    },
    names=_names,
    expected={"attention_bias": False, "mlp_bias": False, "pretraining_tp": 1},
    finish=_rotary,
    derived=lambda config: {
        "rope_theta": config.base,  # as older files have it
        "rope_parameters": _angles(config),
    },
    unused=("model.rotary_emb.", "rotary_emb."),  # computed here
)
FAMILIES = (LLAMA,)

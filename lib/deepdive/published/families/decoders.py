"""Llama, Mistral, Qwen2, Qwen3 and Gemma: config settings, name tables, and the layout of rotary
(RoPE) weights in their files.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from deepdive.core import gelu_tanh
from deepdive.core.feed_forward import Activation
from deepdive.models.generative import llama, llama_variants
from deepdive.models.generative.llama_config import LlamaConfig
from deepdive.positions import RopeScaling
from deepdive.published.families.encoders import SIZES, layer
from deepdive.published.form import Family, Setting, activation_of, name_of
from deepdive.published.names import Layout, Names

SCALINGS = {
    "linear": {"factor": "factor"},
    "llama3": {
        "factor": "factor", "low": "low_freq_factor", "high": "high_freq_factor",
        "original": "original_max_position_embeddings",
    },
}  # fmt: skip
# Fields that not every family has; without a setting for it, a family has the value of its `base`.
DIFFERENCES = ("window", "full_layers", "qkv_bias", "out_bias", "qk_norm", "norm", "embedding")
SLIDING, FULL = "sliding_attention", "full_attention"
LAYER, OURS = "model.layers.{}", "decoder.stack.blocks.{}"
LAYERS = layer(
    LAYER,
    "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj input_layernorm "
    "mlp.up_proj mlp.down_proj post_attention_layernorm",
    OURS,
)


def paired(n_heads: int) -> Layout:
    """Return the permutations between their rows of W_q, where entry i of a head is rotated with
    entry i + d_head / 2, and ours, where 2i is rotated with 2i + 1.
    """

    def to_ours(rows: Tensor) -> Tensor:
        return rearrange(rows, "(h two i) ... -> (h i two) ...", h=n_heads, two=2)

    def to_theirs(rows: Tensor) -> Tensor:
        return rearrange(rows, "(h i two) ... -> (h two i) ...", h=n_heads, two=2)

    return to_ours, to_theirs


def paired_keys(n_kv_heads: int) -> Layout:
    """Return `paired` for the rows of W_k, above those of W_v, which are not rotated."""
    to_ours, to_theirs = paired(n_kv_heads)

    def first_half(rows: Tensor, change: Any) -> Tensor:
        keys, values = rows.chunk(2)
        return rearrange([change(keys), values], "two r ... -> (two r) ...")

    return lambda rows: first_half(rows, to_ours), lambda rows: first_half(rows, to_theirs)


def _names(config: LlamaConfig) -> Names:
    return LAYERS | Names(
        {
            "model.embed_tokens": "decoder.embedding",
            f"{LAYER}.self_attn.q_norm": f"{OURS}.attn.q_norm",
            f"{LAYER}.self_attn.k_norm": f"{OURS}.attn.k_norm",
            f"{LAYER}.mlp.gate_proj": f"{OURS}.ff.gate",
            "model.norm": "decoder.stack.norm",
            "lm_head": "head.embedding" if config.tied else "head",
        },
        {
            f"{OURS}.attn.q": paired(config.n_heads),
            f"{OURS}.attn.kv": paired_keys(config.kv_heads),
            f"{OURS}.attn.q_norm": paired(1),
            f"{OURS}.attn.k_norm": paired(1),
        },
    )


def _rotary(config: LlamaConfig, theirs: Mapping[str, Any]) -> LlamaConfig:
    """Read RoPE's base and scaling from the keys of older or newer config files. Raises ValueError
    for a scaling that is not supported.
    """
    older, newer = theirs.get("rope_scaling") or {}, theirs.get("rope_parameters") or {}
    scaling = None
    for rope in (older, newer):
        kind = rope.get("rope_type", rope.get("type", "default"))
        if kind not in ("default", *SCALINGS):
            raise ValueError(
                f"config has RoPE scaling of type {kind!r}; supported: default, "
                f"{', '.join(SCALINGS)}"
            )
        if kind != "default":
            keys = SCALINGS[kind]
            if missing := [key for key in keys.values() if key not in rope]:
                raise ValueError(f"config has RoPE scaling of type {kind!r} without {missing[0]}")
            scaling = RopeScaling(**{ours: rope[key] for ours, key in keys.items()})
    base = newer.get("rope_theta", theirs.get("rope_theta", 10_000.0))
    if type(base) not in (int, float) or not 0 < base < float("inf"):
        raise ValueError(f"config has rope_theta={base!r}; expected a number above 0")
    return config.but(base=float(base), scaling=scaling)


def _angles(config: LlamaConfig) -> dict[str, Any]:
    """Return RoPE's settings in the newer format."""
    settings: dict[str, Any] = {"rope_theta": config.base, "rope_type": "default"}
    if config.scaling is not None:
        settings["rope_type"] = "linear" if config.scaling.low is None else "llama3"
        keys = SCALINGS[settings["rope_type"]]
        settings |= {key: getattr(config.scaling, ours) for ours, key in keys.items()}
    return settings


def _activation(ours: Activation) -> str:
    """Return the name of an activation; this family writes silu instead of swish."""
    return "silu" if ours is F.silu else name_of(ours)


def _written(base: LlamaConfig, *with_setting: str) -> Callable[[LlamaConfig], dict[str, Any]]:
    """Return a function that writes settings depending on several fields. `with_setting` lists the
    `DIFFERENCES` that the family of `base` has settings for; a config that differs from `base` in
    another one raises ValueError.
    """

    def derived(config: LlamaConfig) -> dict[str, Any]:
        for name in DIFFERENCES:
            value, wanted = getattr(config, name), getattr(base, name)
            if name == "out_bias" and "qkv_bias" in with_setting:
                wanted = config.qkv_bias  # one setting for both
            if name not in with_setting and value != wanted:
                raise ValueError(
                    f"{name}={value!r}: {base.family} is published with {name}={wanted!r}; change "
                    "the field, or use a family that has it (see llama_variants)"
                )
        windows = _windows(config) if "full_layers" in with_setting else {}
        # Older files have RoPE's base in `rope_theta`.
        return {"rope_theta": config.base, "rope_parameters": _angles(config), **windows}

    return derived


def _biased(config: LlamaConfig, theirs: Mapping[str, Any]) -> LlamaConfig:
    """Set out_bias = qkv_bias: one setting is for all four projections."""
    return _rotary(config.but(out_bias=config.qkv_bias), theirs)


def _window(keys: Any) -> int | None:
    """Return the sliding window's size. Raises ValueError unless it is a number of keys or null."""
    if keys is None or (type(keys) is int and keys > 0):
        return keys
    raise ValueError(f"config has sliding_window={keys!r}; expected a number above 0, or null")


def _mistral(config: LlamaConfig, theirs: Mapping[str, Any]) -> LlamaConfig:
    """Raise ValueError for layers of two kinds: in transformers all of them have the window."""
    kinds = theirs.get("layer_types")
    if kinds not in (None, _kinds(config)):
        raise ValueError(
            f"config has layer_types={kinds!r}; in this family all are {_kinds(config)[0]!r}, from "
            f"sliding_window={config.window}: remove layer_types, or make them agree"
        )
    return _rotary(config, theirs)


def _kinds(config: LlamaConfig) -> list[str]:
    """Return config.json's layer_types."""
    windows = [config.window_of(layer) for layer in range(config.n_layers)]
    return [FULL if window is None else SLIDING for window in windows]


def _qwen(config: LlamaConfig, theirs: Mapping[str, Any]) -> LlamaConfig:
    """Read the window and which layers have it: by `layer_types`, or all from `max_window_layers`
    on. Raises ValueError for layers of another kind, or another number of them.
    """
    window = _window(theirs.get("sliding_window")) if theirs.get("use_sliding_window") else None
    kinds = theirs.get("layer_types")
    if kinds is None:
        first = config.n_layers if window is None else theirs.get("max_window_layers")
        if type(first) is not int:
            raise ValueError(f"config has max_window_layers={first!r}; expected a whole number")
        kinds = [FULL if i < first else SLIDING for i in range(config.n_layers)]
    known = (FULL,) if window is None else (FULL, SLIDING)
    if not isinstance(kinds, list) or any(kind not in known for kind in kinds):
        raise ValueError(
            f"config has layer_types={kinds!r}; with sliding_window={window}, expected a list of "
            f"{' and '.join(map(repr, known))}"
        )
    if len(kinds) != config.n_layers:
        raise ValueError(
            f"config has {len(kinds)} layer_types and num_hidden_layers={config.n_layers}: give "
            "one layer type per layer"
        )
    if SLIDING in kinds:
        full = tuple(i for i, kind in enumerate(kinds) if kind == FULL)
        config = config.but(window=window, full_layers=full)
    return _rotary(config, theirs)


def _qwen3(config: LlamaConfig, theirs: Mapping[str, Any]) -> LlamaConfig:
    return _qwen(config.but(out_bias=config.qkv_bias), _with_heads(theirs))


def _windows(config: LlamaConfig) -> dict[str, Any]:
    """Return the window's settings: the inverse of `_qwen`."""
    kinds = _kinds(config)
    settings = {
        "use_sliding_window": config.window is not None,
        "sliding_window": config.window,
        "layer_types": kinds,
    }
    if config.window is not None and sorted(kinds) == kinds:  # full ones first
        settings["max_window_layers"] = kinds.count(FULL)
    return settings


def _with_heads(theirs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings. Raises ValueError if head_dim is null: these families do not compute
    it.
    """
    if theirs.get("head_dim") is None:
        raise ValueError("config has head_dim=None; expected the width of a head")
    return theirs


def _gemma(config: LlamaConfig, theirs: Mapping[str, Any]) -> LlamaConfig:
    """Read the activation, which older files call `hidden_activation`. Raises ValueError if both
    are given and differ, and for bidirectional attention.
    """
    if theirs.get("use_bidirectional_attention"):
        raise ValueError("config has use_bidirectional_attention=True; only False is supported")
    other = theirs.get("hidden_activation")
    if other is not None and _tanh(other) is not config.activation:
        raise ValueError(
            f"config has hidden_activation={other!r} and hidden_act={theirs['hidden_act']!r}: give "
            "both the same value, or only hidden_act"
        )
    return _biased(config, _with_heads(theirs))


def _tanh(name: str) -> Activation:
    """Return an activation. "gelu" in Gemma's first files means its tanh approximation."""
    return activation_of("gelu_pytorch_tanh" if name == "gelu" else name)


def _gemma_activation(ours: Activation) -> str:
    name = "gelu_pytorch_tanh" if ours is gelu_tanh else _activation(ours)
    if name == "gelu":
        raise ValueError(
            "activation=gelu: transformers reads gelu as its tanh approximation in this family; "
            "use gelu_tanh"
        )
    return name


SETTINGS: dict[str, str | Setting] = {
    "vocab_size": "vocab_size",
    **SIZES,
    "n_kv_heads": Setting("num_key_value_heads", written="kv_heads"),
    "d_head": Setting("head_dim", written="width"),
    "max_length": "max_position_embeddings",
    "eps": "rms_norm_eps",
    "activation": Setting("hidden_act", activation_of, _activation),
    "dropout": "attention_dropout",
    "tied": "tie_word_embeddings",
}
BIASES: dict[str, str | Setting] = {"qkv_bias": Setting("attention_bias", bool)}
UNUSED = ("model.rotary_emb.", "rotary_emb.")  # computed here


LLAMA = Family(
    architecture="LlamaForCausalLM",
    build=llama.llama,
    base=llama.BASE,
    settings=SETTINGS | BIASES,
    names=_names,
    expected={"mlp_bias": False, "pretraining_tp": 1},
    finish=_biased,
    derived=_written(llama.BASE, "qkv_bias"),
    unused=UNUSED,
)
MISTRAL = Family(
    architecture="MistralForCausalLM",
    build=llama.llama,
    base=llama_variants.MISTRAL,
    settings=SETTINGS | {"window": Setting("sliding_window", _window)},
    names=_names,
    finish=_mistral,
    derived=_written(llama_variants.MISTRAL, "window"),
    unused=UNUSED,
)
QWEN2 = Family(
    architecture="Qwen2ForCausalLM",
    build=llama.llama,
    base=llama_variants.QWEN2,
    settings=SETTINGS,
    names=_names,
    finish=_qwen,
    derived=_written(llama_variants.QWEN2, "window", "full_layers"),
    unused=UNUSED,
)
QWEN3 = Family(
    architecture="Qwen3ForCausalLM",
    build=llama.llama,
    base=llama_variants.QWEN3,
    settings=SETTINGS | BIASES,
    names=_names,
    finish=_qwen3,
    derived=_written(llama_variants.QWEN3, "window", "full_layers", "qkv_bias"),
    unused=UNUSED,
)
GEMMA = Family(
    architecture="GemmaForCausalLM",
    build=llama.llama,
    base=llama_variants.GEMMA,
    settings=SETTINGS | BIASES | {"activation": Setting("hidden_act", _tanh, _gemma_activation)},
    names=_names,
    finish=_gemma,
    derived=_written(llama_variants.GEMMA, "qkv_bias"),
    unused=UNUSED,
)
FAMILIES = (LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA)
EXPERTS = "its feed-forward layers are mixtures of experts"
TWO_BASES = "it has norms on both sides of a sublayer, and RoPE with two bases"
# Decoders with similar names that differ in more than fields of `LlamaConfig`.
NOT_BUILT = {
    "mixtral": EXPERTS,
    "qwen2_moe": EXPERTS,
    "qwen3_moe": EXPERTS,
    "gemma2": "it has norms on both sides of a sublayer, and caps scores and logits",
    "gemma3": TWO_BASES,
    "gemma3_text": TWO_BASES,
}

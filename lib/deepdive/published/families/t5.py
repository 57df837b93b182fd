"""T5 and mT5: config settings, name tables, and the output layer's type."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from deepdive.core import gelu_tanh
from deepdive.models.generative import t5
from deepdive.models.generative.t5_config import T5Config
from deepdive.published.form import Family, activation_of, name_of
from deepdive.published.names import Names, Pairs

SETTINGS = {
    "vocab_size": "vocab_size",
    "d_model": "d_model",
    "n_heads": "num_heads",
    "d_head": "d_kv",
    "n_layers": "num_layers",
    "n_decoder_layers": "num_decoder_layers",
    "d_ff": "d_ff",
    "n_buckets": "relative_attention_num_buckets",
    "max_distance": "relative_attention_max_distance",
    "eps": "layer_norm_epsilon",
    "dropout": "dropout_rate",
    "pad": "pad_token_id",
    "end": "eos_token_id",
}
# Duplicates of one tensor in older files, and a bias table that the decoder never uses.
UNUSED = (
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
)


def side(side: str, ff: dict[str, str], within: str) -> Pairs:
    """Return one side's name table; `ff`: that of its feed-forward layers, inside `within`."""
    theirs, ours = f"{side}.block.{{}}.layer", f"{side}.stack.blocks.{{}}"
    pairs: Pairs = {
        f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias": (
            f"{side}.stack.blocks.0.attn.position.table"
        ),
        f"{side}.final_layer_norm": f"{side}.stack.norm.0",
    }
    attentions = ("SelfAttention", "attn"), ("EncDecAttention", "cross")
    last = 1 if side == "encoder" else 2
    for i, (attention, attn) in enumerate(attentions[:last]):
        for one, other in ("q", "q"), ("o", "out"):
            pairs[f"{theirs}.{i}.{attention}.{one}"] = f"{ours}.{attn}.{other}"
        both = f"{theirs}.{i}.{attention}.k", f"{theirs}.{i}.{attention}.v"
        pairs[both] = f"{ours}.{attn}.kv"
        pairs[f"{theirs}.{i}.layer_norm"] = f"{ours}.{attn}_residual.norm"
    for one, other in ff.items():
        pairs[f"{theirs}.{last}.{within}.{one}"] = f"{ours}.ff.{other}"
    return pairs | {f"{theirs}.{last}.layer_norm": f"{ours}.ff_residual.norm"}


def _names(config: T5Config) -> Names:
    ff = {"wi": "inner", "wo": "out"}
    if config.feed_forward is t5.gated:
        ff = {"wi_0": "gate", "wi_1": "inner", "wo": "out"}
    sides = [side(each, ff, "DenseReluDense") for each in ("encoder", "decoder")]
    return Names({"shared": "encoder.embedding", **head(config), **sides[0], **sides[1]})


def head(config: T5Config) -> Pairs:
    return {"lm_head": "head" if config.head is t5.untied else "head.embedding"}


def check_start(config: T5Config, theirs: Mapping[str, Any]) -> None:
    """Raise ValueError if decoding starts with another token than padding."""
    start = theirs.get("decoder_start_token_id")
    if start not in (None, config.pad):
        raise ValueError(
            f"config has decoder_start_token_id={start}; only the padding token, "
            f"pad_token_id={config.pad}, is supported"
        )


def _check_activation(theirs: Mapping[str, Any], proj: str, is_gated: bool) -> None:
    """Raise ValueError if two other keys, which take precedence in transformers, contradict
    feed_forward_proj.
    """
    name = "gelu_new" if proj == "gated-gelu" else proj.rpartition("-")[2]
    for key, value in (("dense_act_fn", name), ("is_gated_act", is_gated)):
        if theirs.get(key) not in (None, value):
            raise ValueError(
                f"config has {key}={theirs[key]!r} and feed_forward_proj={proj.lstrip('-')!r}: "
                "they contradict each other"
            )


def _t5(config: T5Config, theirs: Mapping[str, Any]) -> T5Config:
    check_start(config, theirs)
    gate, _, name = theirs.get("feed_forward_proj", "relu").rpartition("-")
    if gate not in ("", "gated"):
        raise ValueError(f"config has feed_forward_proj={gate}-{name}; expected gated-{name}")
    # "gated-gelu" means GELU's tanh approximation, as in the original training code.
    activation = gelu_tanh if (gate, name) == ("gated", "gelu") else activation_of(name)
    _check_activation(theirs, f"{gate}-{name}", bool(gate))
    shared = theirs.get("tie_word_embeddings", True) is not False
    is_scaled = theirs.get("scale_decoder_outputs", shared) and config.family == "t5"
    return config.but(
        feed_forward=t5.gated if gate else t5.relu_feed_forward,
        activation=activation,
        head=t5.scaled if is_scaled else t5.untied,
    )


def its_own(config: T5Config, tensors: Mapping[str, Tensor]) -> T5Config:
    """Set, for an unscaled head, whether the output layer is untied, from the tensors: configs are
    ambiguous, since versions of transformers write the same for both.
    """
    if config.head is t5.scaled:
        return config
    own, shared = tensors.get("lm_head.weight"), tensors.get("shared.weight")
    is_untied = own is not None and (shared is None or not torch.equal(own, shared))
    return config.but(head=t5.untied if is_untied else t5.tied)


def _of_t5(config: T5Config) -> dict[str, Any]:
    is_gated, is_scaled = config.feed_forward is t5.gated, config.head is t5.scaled
    if is_scaled and config.family != "t5":
        raise ValueError(f"head: {config.family} has no scaled head; build it with t5.untied")
    name = name_of(config.activation)
    if is_gated and name == "gelu":
        raise ValueError("activation: transformers supports gated gelu only as gelu_tanh")
    name = "gelu" if is_gated and config.activation is gelu_tanh else name
    return {
        "feed_forward_proj": f"gated-{name}" if is_gated else name,
        "tie_word_embeddings": is_scaled or (config.family != "t5" and config.head is t5.tied),
        "decoder_start_token_id": config.pad,
    }


def _family(architecture: str, base: T5Config) -> Family:
    return Family(
        architecture=architecture,
        build=t5.t5,
        base=base,
        settings=SETTINGS,
        names=_names,
        finish=_t5,
        fit=its_own,
        derived=_of_t5,
        unused=UNUSED,
    )


T5 = _family("T5ForConditionalGeneration", t5.BASE)
MT5 = _family("MT5ForConditionalGeneration", t5.MT5)
FAMILIES = (T5, MT5)

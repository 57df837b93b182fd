"""TimeSformer: config settings and name tables of the three released attention schemes."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from deepdive.models.vision import timesformer
from deepdive.models.vision.video_embeddings import VideoEmbeddings
from deepdive.published.families.encoders import LAYER
from deepdive.published.families.vit import SETTINGS, embeddings
from deepdive.published.form import Family
from deepdive.published.names import Fused, Names, Pairs, axis

RELEASED = ("space_only", "joint_space_time", "divided_space_time")
PARTS = ("block", "embeddings", "model")
OURS = "stack.blocks.{}"


def _scheme(config: Any, theirs: Mapping[str, Any]) -> Any:
    name = theirs.get("attention_type", "divided_space_time")
    if name not in RELEASED:
        raise ValueError(f"config has attention_type={name!r}; expected one of {RELEASED}")
    record = timesformer.SCHEMES[name]
    return config.but(**{part: getattr(record, part) for part in PARTS})


def _name(config: Any) -> dict[str, Any]:
    for name in RELEASED:
        record = timesformer.SCHEMES[name]
        if all(getattr(config, part) is getattr(record, part) for part in PARTS):
            return {"attention_type": name}
    raise ValueError(f"config: this scheme has no published form; expected one of {RELEASED}")


def _apart(fused: Tensor) -> Sequence[Tensor]:
    """Split a fused matrix into queries, and keys with values."""
    rows = len(fused) // 3
    return fused[:rows], fused[rows:]


FUSED: Fused = (_apart, lambda parts: torch.cat(list(parts)))


def names(config: Any) -> Names:
    """Return the name table of a config's model; queries, keys and values are fused."""
    found = embeddings(config) | {"layernorm": "stack.norm"}
    layers = {
        "attention.attention.qkv:0": "attn.q",
        "attention.attention.qkv:1": "attn.kv",
        "attention.output.dense": "attn.out",
        "layernorm_before": "attn_residual.norm",
        "intermediate.dense": "ff.inner",
        "output.dense": "ff.out",
        "layernorm_after": "ff_residual.norm",
    }
    if config.embeddings is VideoEmbeddings:
        times: Pairs = {"embeddings.time_embeddings": "embeddings.times"}
        found |= Names(times, {"embeddings.times": axis(0)})
    fused = {f"{LAYER}.attention.attention.qkv": FUSED}
    if config.block is timesformer.DIVIDED.block:
        layers = {t: o.replace("attn.", "attn.attn.") for t, o in layers.items()} | {
            "temporal_attention.attention.qkv:0": "firsts.0.step.attn.q",
            "temporal_attention.attention.qkv:1": "firsts.0.step.attn.kv",
            "temporal_attention.output.dense": "firsts.0.step.attn.out",
            "temporal_dense": "firsts.0.dense",
            "temporal_layernorm": "first_residuals.0.norm",
        }
        fused[f"{LAYER}.temporal_attention.attention.qkv"] = FUSED
    pairs: Pairs = {f"{LAYER}.{t}": f"{OURS}.{o}" for t, o in layers.items()}
    return found | Names(pairs, fused=fused)


TIMESFORMER = Family(
    architecture="TimesformerModel",
    build=timesformer.timesformer,
    base=timesformer.BASE,
    settings=SETTINGS | {"n_frames": "num_frames"},
    names=names,
    prefix="timesformer.",
    expected={"qkv_bias": True, "drop_path_rate": 0},
    finish=_scheme,
    derived=_name,
    unused=("classifier.",),
)
FAMILIES = (TIMESFORMER,)

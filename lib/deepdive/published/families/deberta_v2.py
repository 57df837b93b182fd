"""DeBERTa versions 2 and 3: config settings, name tables, heads."""

from collections.abc import Mapping
from typing import Any

from deepdive.models.bert import deberta_v2
from deepdive.published.families.deberta import (
    ATTENTION,
    DEBERTA,
    DEBERTA_SETTINGS,
    PLACED,
    WORDS,
    their_terms,
    three_terms,
    with_places,
)
from deepdive.published.families.encoders import LAYER, layer, like
from deepdive.published.form import Setting

SHARED = {"share_att_key": True, "norm_rel_ebd": "layer_norm"}


def _version_2(config: Any, theirs: Mapping[str, Any]) -> Any:
    three_terms(theirs, PLACED | SHARED)
    only = {"attention_head_size": config.d_head, "conv_groups": 1}
    if config.kernel is not None:
        only["conv_act"] = "gelu"
        if theirs.get("conv_act") is None:
            raise ValueError("config has a convolution but no conv_act; only gelu is supported")
    for key, value in only.items():
        if theirs.get(key) not in (None, value):
            raise ValueError(f"config has {key}={theirs[key]}; only {value} is supported")
    return config


def _buckets(count: Any) -> Any:
    if type(count) is int and count < 1:
        raise ValueError(
            f"config has position_buckets={count}, or lacks it; only bucketed distances (1 or more "
            "buckets) are supported"
        )
    return count


def _their_settings(config: Any) -> dict[str, Any]:
    return their_terms(config) | SHARED | ({"conv_act": "gelu"} if config.kernel else {})


DEBERTA_V2 = like(
    DEBERTA,
    "DebertaV2",
    deberta_v2.deberta_v2,
    deberta_v2.V3_BASE,
    prefix="deberta.",
    settings=DEBERTA_SETTINGS
    | {
        "n_buckets": Setting("position_buckets", _buckets),
        "kernel": Setting("conv_kernel_size", lambda n: n or None, lambda n: n or 0),
    },
    expected={"tie_word_embeddings": True},
    finish=_version_2,
    derived=_their_settings,
    names=WORDS
    | layer(
        LAYER,
        "attention.self.query_proj attention.self.key_proj attention.self.value_proj "
        "attention.output.dense attention.output.LayerNorm intermediate.dense output.dense "
        "output.LayerNorm",
    )
    | {
        "encoder.rel_embeddings": f"{ATTENTION}.position.rows.table".format(0),
        "encoder.LayerNorm": f"{ATTENTION}.position.rows.norm".format(0),
        "encoder.conv.conv": "stack.blocks.0.convolution.W",
        "encoder.conv.LayerNorm": "stack.blocks.0.norm",
    },
    heads=with_places("DebertaV2"),
)
FAMILIES = (DEBERTA_V2,)

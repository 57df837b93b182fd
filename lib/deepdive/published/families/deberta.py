"""DeBERTa: config settings, name tables, heads."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from deepdive.models.bert import deberta, mask_decoder
from deepdive.published.families.encoders import (
    BERT,
    LAYER,
    SETTINGS,
    UNUSED,
    is_masked_lm,
    layer,
    like,
)
from deepdive.published.form import Head, Setting
from deepdive.published.names import Fused, Names, Pairs

PLACED = {"relative_attention": True, "position_biased_input": False}
ATTENTION = "stack.blocks.{}.attn"
DEBERTA_SETTINGS = SETTINGS | {
    "reach": Setting(
        "max_relative_positions",
        lambda reach: reach if isinstance(reach, int) and reach > 0 else None,
        lambda reach: -1 if reach is None else reach,
    )
}
WORDS = Names(
    {
        "embeddings.word_embeddings": "embeddings.tokens",
        "embeddings.token_type_embeddings": "embeddings.segments",
        "embeddings.LayerNorm": "embeddings.norm",
    }
)
# The released names of the masked language modeling head: transformers' with legacy=False.
FILLS = Names(
    {
        "lm_predictions.lm_head.dense": "masked.dense",
        "lm_predictions.lm_head.LayerNorm": "masked.norm",
        "lm_predictions.lm_head.bias": "masked.head.bias",
    }
)


def three_terms(theirs: Mapping[str, Any], needed: Mapping[str, Any] = PLACED) -> None:
    """Raise ValueError for a config without exactly three terms in the attention scores, or without
    a `needed` setting, whose default in transformers differs.
    """
    given = theirs.get("pos_att_type") or ()
    terms = {term.strip() for term in given.split("|")} if isinstance(given, str) else set(given)
    if terms != {"c2p", "p2c"}:
        raise ValueError(
            f"config has pos_att_type={theirs.get('pos_att_type')!r}; only c2p and p2c together "
            "are supported"
        )
    for key, value in needed.items():
        if theirs.get(key, key == "position_biased_input") != value:
            raise ValueError(f"config has {key}={theirs.get(key)}; only {value} is supported")


def _version_1(config: Any, theirs: Mapping[str, Any]) -> Any:
    three_terms(theirs)
    return config


def their_terms(config: Any) -> dict[str, Any]:
    return {**PLACED, "pos_att_type": ["c2p", "p2c"], "legacy": False}


def by_head(n_heads: int) -> Fused:
    """Return the functions (split, merge) of the fused matrix of queries, keys and values, which
    are interleaved by head: each head's three parts one after the other.
    """

    def split(fused: Tensor) -> Sequence[Tensor]:
        whole = fused.unflatten(0, (n_heads, 3, -1)).transpose(0, 1)  # (3, H, d_head, d_model)
        return list(whole.flatten(1, 2))

    def merge(parts: Sequence[Tensor]) -> Tensor:
        whole = torch.stack([part.unflatten(0, (n_heads, -1)) for part in parts], dim=1)
        return whole.flatten(0, 2)

    return split, merge


def names(config: deberta.DebertaConfig) -> Names:
    """Return the name table of a DeBERTa; n_heads determines how the fused matrix is split."""
    own, fused = f"{LAYER}.attention.self", "attention.self.in_proj"
    biases: Pairs = {f"{own}.q_bias": f"{ATTENTION}.q.bias", f"{own}.v_bias": f"{ATTENTION}.v_bias"}
    return (
        Names(biases)  # before the matrices, whose names have the same prefix
        | WORDS
        | layer(
            LAYER,
            f"{fused}:0 {fused}:1 {fused}:2 attention.output.dense attention.output.LayerNorm "
            "intermediate.dense output.dense output.LayerNorm",
        )
        | Names(
            {
                f"{own}.pos_proj": f"{ATTENTION}.position.keys",
                f"{own}.pos_q_proj": f"{ATTENTION}.position.queries",
                "encoder.rel_embeddings": f"{ATTENTION}.position.rows.table".format(0),
            },
            fused={f"{LAYER}.{fused}": by_head(config.n_heads)},
        )
    )


def with_places(model_class: str) -> dict[str, Head]:
    """Return both heads: transformers', and the paper's with absolute positions (EMD)."""
    places = Names({"deberta.embeddings.position_embeddings": "positions.table"})
    pretraining = Head(f"{model_class}ForMaskedLM", mask_decoder.for_pretraining, FILLS | places)
    return is_masked_lm(model_class, FILLS) | {"pretraining": pretraining}


DEBERTA = like(
    BERT,
    "Deberta",
    deberta.deberta,
    deberta.BASE,
    settings=DEBERTA_SETTINGS,
    expected={"talking_head": False, "tie_word_embeddings": True},
    finish=_version_1,
    derived=their_terms,
    names=names,
    # Only the paper's head uses absolute positions; version 3 has its discriminator's head too.
    unused=(*UNUSED, "lm_predictions.", "mask_predictions.", "embeddings.position_embeddings."),
    heads=with_places("Deberta"),
)
FAMILIES = (DEBERTA,)

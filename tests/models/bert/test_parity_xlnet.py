"""XLNet against transformers in float64: one stream, two, two segments, and what is remembered."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SEGMENTS, reference, saved_and_loaded
from parity_proofs import alike, tokens
from parity_registry import equal, parity
from torch import Tensor, nn
from transformers import XLNetConfig, XLNetLMHeadModel, XLNetModel

from deepdive.layers.segment_memory import Memory
from deepdive.models.bert import xlnet
from deepdive.positions import SinusoidalPosition
from deepdive.positions.xl import RelativeSegments
from deepdive.published import family, from_config, load
from deepdive.training.objectives import seen_in

SIZES: dict[str, Any] = {
    "vocab_size": 28, "d_model": 16, "n_layer": 2, "n_head": 4, "d_inner": 24, "mem_len": 5,
}  # fmt: skip
SRC = tokens(3, 7, vocab=28)
DRAWN = torch.Generator().manual_seed(1)
ORDER = torch.stack([torch.randperm(7, generator=DRAWN) for _ in range(3)])
PLACES = ORDER[:, 4:]  # those before them are read, so none has nothing to read
# Theirs counts its waves in float32 whatever its weights are: here in their precision.
IN_FLOAT64 = partial(mock.patch.object, torch.Tensor, "float", torch.Tensor.double)


def asked(model: nn.Module, sees: Tensor, places: Tensor, **more: Any) -> Tensor:
    """What theirs says of places (B, M) under an order."""
    mapping = F.one_hot(places, 7).double()
    return model(SRC, perm_mask=(~sees).double(), target_mapping=mapping, **more)[0]


@parity("xlnet", xlnet.XLNetLM, xlnet.XLNetBlock, RelativeSegments)
def xlnet_agrees() -> None:
    theirs = reference(XLNetLMHeadModel, XLNetConfig, **SIZES)
    ours, rule = saved_and_loaded(theirs, partial(load, head="lm")), family("xlnet")
    body, sees, first = theirs.transformer, seen_in(ORDER), tokens(3, 4, vocab=28, seed=5)
    places = ORDER[:, -2:]
    real = seen_in(ORDER, MASK) & MASK[:, None]
    # The first text has no padding, so that its places have something to read.
    one = torch.tensor([[True], [True], [False]]).expand(3, 2)
    with IN_FLOAT64():
        mine, other = [], []
        for mask in (MASK, MASK.flip(1)):  # padding at the end, at the start
            mine.append(ours.bert(SRC, mask, SEGMENTS)[mask])
            other.append(body(SRC, mask.double(), token_type_ids=SEGMENTS)[0][mask])
        mine.append(ours(SRC, sees, PLACES, None, SEGMENTS).flatten(0, 1))
        other.append(asked(theirs, sees, PLACES, token_type_ids=SEGMENTS).flatten(0, 1))
        mine.append(ours(SRC, real, places, MASK)[one])
        other.append(asked(theirs, sees, places, attention_mask=MASK.double())[one])
        memory, mems = Memory(ours.bert.config.n_memory), None
        for text in (first, tokens(3, 4, vocab=28, seed=6)):  # 8 rows, of which 5 are kept
            mine.append(ours.bert(text, memory=memory).flatten(0, 1))
            states, mems = body(text, mems=mems, use_mems=True)[:2]
            other.append(states.flatten(0, 1))
        assert mems is not None
        for kept, wanted in zip(memory.rows, mems, strict=True):
            equal(kept, wanted.transpose(0, 1))
        everywhere = ORDER[:, ::3]  # the first of an order reads what is remembered
        mine.append(ours(SRC, sees, everywhere, None, SEGMENTS, memory).flatten(0, 1))
        more = {"mems": mems, "token_type_ids": SEGMENTS, "use_mems": True}
        other.append(asked(theirs, sees, everywhere, **more).flatten(0, 1))
        flat = [torch.cat([each.flatten() for each in rows]) for rows in (mine, other)]
        alike(ours, theirs, *flat, [rule.table("lm", ours.bert.config)])
        whole = reference(XLNetModel, XLNetConfig, **SIZES)
        equal(saved_and_loaded(whole, load)(SRC), whole(SRC)[0])


def test_published_sizes() -> None:
    base = {"d_model": 768, "n_layer": 12, "n_head": 12, "d_inner": 3072}
    with torch.device("meta"):
        for size, theirs in ((xlnet.BASE, XLNetConfig(**base)), (xlnet.LARGE, XLNetConfig())):
            ours, other = xlnet.for_lm(xlnet.xlnet(size)), XLNetLMHeadModel(theirs)
            assert sum(p.numel() for p in ours.parameters()) == sum(
                p.numel() for p in other.parameters()
            )


def test_settings_that_are_not_built_are_refused() -> None:
    config = XLNetConfig(**SIZES).to_dict()
    for change in ({"attn_type": "uni"}, {"bi_data": True}, {"clamp_len": 4}, {"reuse_len": 3}):
        with pytest.raises(ValueError, match=next(iter(change))):
            from_config({**config, **change})
    assert from_config({**config, "mem_len": 0}).config.n_memory is None


def reads_itself(rows: Tensor, places: Tensor) -> Tensor:
    own = F.one_hot(places, rows.shape[-1]).bool()
    return rows.gather(1, places[..., None].expand_as(own)) | own


def keeps_all(self: Memory, layer: int, rows: Tensor) -> Tensor:
    rows = torch.cat((*self.rows[layer : layer + 1], rows), 1)
    self.rows[layer : layer + 1] = [rows.detach()]
    return rows


def swapped(self: RelativeSegments, q: Tensor, apart: Tensor) -> Tensor:
    worth = (q + self.w[:, None]) @ self.e.permute(1, 2, 0) * 0.5
    return torch.where(apart[:, None], worth[..., :1], worth[..., 1:])


def only_asked(self: RelativeSegments, q: Tensor, apart: Tensor) -> Tensor:
    worth = q @ self.e.permute(1, 2, 0) * 0.5
    return torch.where(apart[:, None], worth[..., 1:], worth[..., :1])


MUTATIONS: dict[str, tuple[str, object]] = {
    "a place that reads its own token": ("_at", reads_itself),
    "waves that alternate": ("BlockedSinusoidalPosition", SinusoidalPosition),
    "a memory without an end": ("Memory.before", keeps_all),
    "one text for two": ("RelativeSegments.forward", swapped),
    "segments without w": ("RelativeSegments.forward", only_asked),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(f"deepdive.models.bert.xlnet.{target}", wrong), pytest.raises(AssertionError):
        xlnet_agrees()


def test_the_proof_holds_without_a_mutation() -> None:
    xlnet_agrees()

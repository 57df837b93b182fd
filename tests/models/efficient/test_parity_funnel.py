"""Funnel-Transformer against transformers in float64: with a decoder and without, two segments, odd
lengths, padding.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, real, tokens
from parity_registry import equal, parity
from torch import Tensor
from transformers import FunnelBaseModel, FunnelConfig, FunnelForMaskedLM, FunnelModel

from deepdive.layers.funnel_attention import FunnelAttention, FunnelBlock
from deepdive.layers.pair_pooling import PairPooling
from deepdive.models.efficient import funnel
from deepdive.positions.xl import PooledXLPosition
from deepdive.published import family, from_config, load, save

SIZES: dict[str, Any] = {
    "vocab_size": 28, "d_model": 16, "n_head": 2, "d_head": 6, "d_inner": 24,
    "block_sizes": [1, 2, 1], "num_decoder_layers": 1,
}  # fmt: skip
# Lengths at which no pair has one real and one padding token: their masks differ there.
SRC, MASK = tokens(3, 9, vocab=28), real([9, 7, 5], 9)
SEGMENTS = torch.tensor([[2, 0, 0, 0, 1, 1, 1, 1, 1], [2, 0, 0, 1, 1, 1, 1, 0, 0], [2] + [0] * 8])


def both(kind: type[Any], **settings: Any) -> tuple[funnel.Funnel, Any]:
    theirs = reference(kind, FunnelConfig, **{**SIZES, **settings})
    ours = saved_and_loaded(theirs, load)
    assert isinstance(ours, funnel.Funnel)
    return ours, theirs


def run(model: Any, length: int, mask: Tensor | None = None, segments: bool = True) -> Tensor:
    """The model's states; theirs computes its softmax in float32 whatever its weights are: here in
    their precision.
    """
    text, of = SRC[:, :length], SEGMENTS[:, :length] if segments else None
    if isinstance(model, funnel.Funnel):
        return model(text, mask, of)
    with mock.patch.object(Tensor, "float", Tensor.double):
        real_tokens = None if mask is None else mask.double()
        return model(text, attention_mask=real_tokens, token_type_ids=of)[0]


def proves(kind: type[Any], **settings: Any) -> None:
    ours, theirs = both(kind, **settings)
    mine, other = [], []
    # Theirs raises for texts too short for three blocks.
    for length in (9, 8, 6, 5):
        a, b = run(ours, length), run(theirs, length)
        assert a.shape == b.shape
        mine.append(a.flatten())
        other.append(b.flatten())
    seen = MASK if kind is FunnelModel else real([3, 3, 2], 3)
    if ours.config.separate_cls and ours.config.truncate:
        mine.append(run(ours, 9, mask=MASK)[seen].flatten())
        other.append(run(theirs, 9, mask=MASK)[seen].flatten())
    names = family("funnel").table(None, ours.config)
    alike(ours, theirs, torch.cat(mine), torch.cat(other), [names])


@parity("funnel", funnel.Funnel, FunnelBlock, FunnelAttention, PooledXLPosition)
def funnel_agrees() -> None:
    proves(FunnelModel)
    proves(FunnelBaseModel)


@pytest.mark.parametrize("kind", [FunnelModel, FunnelBaseModel])
@pytest.mark.parametrize(
    "settings",
    [
        {"truncate_seq": False},
        {"separate_cls": False},
        {"separate_cls": False, "truncate_seq": False},
    ],
)
def test_other_poolings(kind: type[Any], settings: dict[str, bool]) -> None:
    proves(kind, block_sizes=[1, 2], **settings)


def test_a_text_without_segments_has_one() -> None:
    ours, theirs = both(FunnelModel)
    equal(run(ours, 9, segments=False), run(theirs, 9, segments=False))


def test_a_decoder_without_layers() -> None:
    ours, theirs = both(FunnelModel, num_decoder_layers=0)
    equal(run(ours, 9), run(theirs, 9))


def test_published_form(tmp_path: Any) -> None:
    """Our files, read by transformers."""
    for kind in (FunnelModel, FunnelBaseModel):
        ours, _ = both(kind)
        save(ours, tmp_path / kind.__name__)
        read = kind.from_pretrained(tmp_path / kind.__name__).double().eval()
        equal(run(ours, 9), run(read, 9), 1e-5)  # saved in float32


def test_a_file_with_a_head() -> None:
    theirs = reference(FunnelForMaskedLM, FunnelConfig, **SIZES)
    ours = saved_and_loaded(theirs, load)
    equal(run(ours, 9), run(theirs.funnel, 9))


def test_published_sizes() -> None:
    with torch.device("meta"):
        ours, theirs = funnel.funnel(), FunnelModel(FunnelConfig())
    count = [sum(p.numel() for p in m.parameters()) for m in (ours, theirs)]
    assert count[0] == count[1]


def test_settings_that_are_not_built_are_refused() -> None:
    config = FunnelConfig(**SIZES).to_dict()
    for change in ({"pooling_type": "max"}, {"pool_q_only": False}, {"block_repeats": [1, 2, 1]},
                   {"attention_type": "factorized"}):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(change))):
            from_config({**config, **change})


def test_pairs_that_padding_cuts() -> None:
    """A pair of one real and one padding token is real here, and in the authors' code; transformers
    masks it, and its mean contains the padding.
    """
    ours, theirs = both(FunnelBaseModel)
    mask, other = real([8, 8, 8], 9), SRC.clone()
    other[:, 8] = 4 + (SRC[:, 8] - 3) % 20
    equal(ours(SRC, mask), ours(other, mask), 1e-12)
    mask = real([6, 6, 6], 9)  # cls, (1 2), (3 4), (5 padding)
    other = SRC.clone()
    other[:, 6:] = 4 + (SRC[:, 6:] - 3) % 20
    equal(ours(SRC, mask), ours(other, mask), 1e-12)
    a, b = ours(SRC, mask)[:, :2], run(theirs, 9, mask, segments=False)[:, :2]
    assert (a - b).abs().max() > 1e-3


def test_padding_changes_nothing_without_truncation() -> None:
    """A text alone, and the same text padded: equal states, whatever its length."""
    model = funnel.funnel(funnel.TINY, truncate=False, block_sizes=(1, 1, 1)).double().eval()
    for length in (4, 5, 6, 7):
        mask = real([length] * 3, 9)
        alone, padded = model(SRC[:, :length]), model(SRC, mask)
        equal(padded[:, :length], alone)


MUTATIONS: dict[str, tuple[str, object]] = {
    "[CLS] with a position": (
        "deepdive.positions.xl.PooledXLPosition.without_cls",
        lambda self, terms, q_positions, k_positions: terms),
    "no truncation": ("deepdive.layers.pair_pooling.PairPooling.split",
        lambda self, x: (x[:, :1], x[:, 1:])),
    "positions of a pair's second token": ("deepdive.layers.pair_pooling.PairPooling.first",
        lambda self, x: torch.cat((x[:, :1], x[:, 2::2]), 1)),
    "[CLS] in the segment of the second text": ("deepdive.layers.funnel_attention.CLS_SEGMENT", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError, RuntimeError)):
        funnel_agrees()


def test_the_proof_holds_without_a_mutation() -> None:
    funnel_agrees()
    assert PairPooling().pools(3)
    assert not PairPooling().pools(2)

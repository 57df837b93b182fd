"""Exact attention in tiles: equal to the whole matrix, gradients included, in memory that is
flat.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from deepdive.attention import TiledAttention, tiled
from deepdive.core import SoftmaxAttention
from deepdive.core.masks import Causal, Padding

EXACT = 1e-12


@parity(TiledAttention)
def in_tiles() -> None:
    """Odd lengths, tiles that divide none of them, padding on both sides, few queries, a scale."""
    for T, S, block in ((13, 13, 4), (13, 13, 1), (4, 13, 5), (13, 13, 64)):
        for causal in (False, True):
            keys = real([13, 9], 13)
            keys[1, :2] = False  # the first rows have no key where they may not look ahead
            dense = keys[:, None, None] & (Causal().dense(T, S) if causal else torch.ones(T, S) > 0)
            mask = Padding(keys) & Causal() if causal else Padding(keys)
            shapes = ((2, 3, T, 6), (2, 3, S, 6), (2, 3, S, 5))
            q, k, v = (rows(*shape, seed=i) for i, shape in enumerate(shapes))
            q, k = q * 4, k * 4  # scores far from 0: sums that are not rescaled would show
            output = TiledAttention(block)(q, k, v, mask, scale=0.7)
            expected = F.scaled_dot_product_attention(q, k, v, dense, scale=0.7)
            equal(output, expected, EXACT)
            equal_gradients(output, expected, {"q": (q, q), "k": (k, k), "v": (v, v)}, EXACT)


def test_a_sum_that_is_not_rescaled_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "mul_", lambda self, other: self)
    with pytest.raises(AssertionError):
        in_tiles()


def test_the_gradient_by_hand_is_that_of_finite_differences() -> None:
    keys = real([5, 3], 5)
    q, k, v = (rows(2, 1, 5, 2, seed=seed) for seed in range(3))
    for mask in (None, Causal(), Padding(keys), Causal() & Padding(keys)):
        assert torch.autograd.gradcheck(
            lambda *x, mask=mask: TiledAttention(2)(*x, mask), (q, k, v)
        )


def test_a_row_without_a_key_is_zero_with_finite_gradients() -> None:
    q, k, v = (rows(1, 1, 6, 4, seed=seed) for seed in range(3))
    keys = torch.tensor([[0, 0, 0, 1, 1, 1]]).bool()
    output = TiledAttention(2)(q, k, v, Causal() & Padding(keys))
    assert (output[0, 0, :3] == 0).all()
    for gradient in torch.autograd.grad(output.square().sum(), (q, k, v)):
        assert gradient.isfinite().all()


def test_huge_scores_do_not_overflow() -> None:
    q, k, v = (rows(1, 1, 9, 4, seed=seed) for seed in range(3))
    tiles, whole = (
        mechanism(1e3 * q, k, v) for mechanism in (TiledAttention(2), SoftmaxAttention())
    )
    equal(tiles, whole, EXACT)


class Largest(TorchDispatchMode):
    """The largest number of entries of any tensor that is made inside."""

    entries = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        sizes = [x.untyped_storage().nbytes() // x.element_size() for x in tree_leaves(made)
                 if isinstance(x, Tensor)]  # fmt: skip
        self.entries = max([self.entries, *sizes])
        return made


@pytest.mark.parametrize("mask", [None, Causal(), Padding(torch.arange(512)[None] < 400)])
def test_nothing_larger_than_the_rows_or_a_tile_is_ever_made(mask: Any) -> None:
    rows_in = [torch.randn(1, 2, 512, 8, requires_grad=True) for _ in range(3)]
    with Largest() as largest:
        TiledAttention(32)(*rows_in, mask).sum().backward()
    assert largest.entries == 2 * 512 * 8
    with Largest() as largest:
        SoftmaxAttention()(*rows_in, torch.ones(512, 512).bool().tril()).sum().backward()
    assert largest.entries >= 512 * 512, "the count would not see the matrix"


def test_what_waits_for_the_backward_pass_grows_with_the_length_not_its_square() -> None:
    def kept(T: int) -> int:
        entries = 0

        def count(x: Tensor) -> Tensor:
            nonlocal entries
            entries += x.numel()
            return x

        rows_in = [torch.randn(1, 2, T, 8, requires_grad=True) for _ in range(3)]
        with torch.autograd.graph.saved_tensors_hooks(count, lambda x: x):
            TiledAttention(32)(*rows_in)
        return entries

    assert kept(512) == 2 * kept(256)


def test_tiles_ahead_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0
    tiles = tiled._tiles

    def counted(*given: Any) -> Any:
        nonlocal made
        for mine, ahead in tiles(*given):
            found = list(ahead)
            made += len(found)
            yield mine, found

    monkeypatch.setattr(tiled, "_tiles", counted)
    q = torch.randn(1, 1, 64, 4)
    TiledAttention(8)(q, q, q, Causal())
    assert made == 8 * 9 // 2

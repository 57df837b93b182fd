"""Attention in tiles: equal to attention under a mask, gradients by hand equal to finite
differences.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients
from torch import Tensor

from deepdive._fast import tiled_attention as tiled
from deepdive._fast.tiled_attention import Tile, attend, shut, window_tiles
from deepdive.core.masks import Window

KEYS = real([12, 7], 12)


def patchwork() -> tuple[list[Tile], Tensor]:
    """Uneven tiles of every kind over 12 queries and keys, and the mask (1, H, T, S) they mean."""
    one = torch.tensor([[[3, 0]], [[5, 5]], [[3, 0]], [[5, 5]]])  # N = 2 texts x 2 heads, blocks of
    two = torch.tensor([[[1, 0], [2, 4]], [[5, 3], [0, 1]]] * 2)  # 2 keys; two parts in one tile
    bias = shut(torch.float64) * torch.ones(3, 3, dtype=torch.float64).triu(1)
    made = [
        Tile((0, 2), ((0, 12),)),
        Tile((2, 4), ((0, 2), (4, 6))),
        Tile((4, 5), blocks=one),
        Tile((5, 8), ((5, 8),), bias),
        Tile((8, 12), blocks=two),
    ]
    mask = torch.zeros(1, 2, 12, 12).bool()
    mask[:, :, :2] = True
    mask[:, :, 2:4, [0, 1, 4, 5]] = True
    mask[:, :, 5:8, 5:8] = torch.ones(3, 3).tril().bool()
    met = (*one[:2].flatten(1).tolist(), *two[:2].flatten(0, 1).tolist())
    places = ((0, [4]), (1, [4]), (0, [8, 9]), (0, [10, 11]), (1, [8, 9]), (1, [10, 11]))
    for (head, queries), blocks in zip(places, met, strict=True):
        for query in queries:
            mask[:, head, query, [key for b in blocks for key in (2 * b, 2 * b + 1)]] = True
    return made, mask


def twice(mask: Tensor) -> Tensor:
    """How often a key is met: block 5 comes twice for head 1's query 4."""
    often = mask.double()
    often[:, 1, 4, 10:] = 2.0
    return often.log()


@pytest.mark.parametrize("padded", [False, True])
def test_tiles_of_every_kind_are_their_mask(padded: bool) -> None:
    """A key that is met twice counts twice; a query without a key gets 0, as in torch's kernel."""
    made, mask = patchwork()
    q, k, v = rows(2, 2, 12, 4), rows(2, 2, 12, 4, seed=1), rows(2, 2, 12, 3, seed=2)
    bias = twice(mask)
    if padded:
        bias = bias.masked_fill(~KEYS[:, None, None], -torch.inf)
    expected = F.scaled_dot_product_attention(q, k, v, bias, scale=0.7)
    output = attend(q, k, v, made, 0.7, real=KEYS if padded else None, unit=2)
    assert (output[1, 1, 4] == 0).all() == padded
    assert output[0].all()
    equal(output, expected)
    equal_gradients(output, expected, {"q": (q, q), "k": (k, k), "v": (v, v)})


def test_gradients_are_those_of_finite_differences() -> None:
    made, _ = patchwork()
    q, k, v = rows(2, 2, 12, 3), rows(2, 2, 12, 3, seed=1), rows(2, 2, 12, 2, seed=2)

    def run(q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        torch.manual_seed(1)  # the same weights are dropped at each call
        return attend(q, k, v, made, 0.7, real=KEYS, dropout=dropout, unit=2)

    for dropout in (0.0, 0.4):
        assert torch.autograd.gradcheck(lambda *x, p=dropout: run(*x, p), (q, k, v))


def test_dropout_keeps_the_mean() -> None:
    q, k, v = (torch.ones(1, 1, 64, 4) for _ in range(3))
    output = attend(q, k, v, window_tiles(64, 64, 20, 20, 16, q), 1.0, dropout=0.3)
    assert abs(output.mean() - 1) < 0.05
    assert output.std() > 0.05


def test_queries_before_every_key_get_zero() -> None:
    """More queries than keys: the first stand before the first key."""
    q, k, v = rows(1, 2, 9, 4), rows(1, 2, 4, 4, seed=1), rows(1, 2, 4, 4, seed=2)
    output = attend(q, k, v, window_tiles(9, 4, 1, 0, 3, q), 0.5)
    expected = F.scaled_dot_product_attention(q, k, v, Window(1).dense(9, 4), scale=0.5)
    assert (output[:, :, :5] == 0).all()
    equal(output, expected)
    equal_gradients(output, expected, {"q": (q, q), "k": (k, k), "v": (v, v)})


def test_without_gradients_no_weights_are_kept() -> None:
    q = rows(1, 1, 8, 4)
    with torch.no_grad():
        assert attend(q, q, q, window_tiles(8, 8, 2, 2, 4, q), 0.5).grad_fn is None
    assert not attend(q.detach(), q.detach(), q.detach(), [Tile((0, 8), ((0, 8),))], 1.0).grad_fn


def test_a_sum_that_forgets_the_output_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tiled._TileRows.add

    def once(self: tiled._TileRows, tile: Tile, a: Tensor, b: Tensor) -> None:
        kept(self, tile._replace(spans=tile.spans[:1]), a[..., : tile.spans[0][1]], b)

    made = [Tile((0, 8), ((0, 4), (4, 8)))]
    q, k, v = (rows(1, 1, 8, 3, seed=seed) for seed in range(3))
    expected = F.scaled_dot_product_attention(q, k, v)
    pairs = {"q": (q, q), "k": (k, k), "v": (v, v)}
    equal_gradients(attend(q, k, v, made, 3**-0.5), expected, pairs)
    monkeypatch.setattr(tiled._TileRows, "add", once)
    expected = F.scaled_dot_product_attention(q, k, v)
    with pytest.raises(AssertionError):
        equal_gradients(attend(q, k, v, made, 3**-0.5), expected, pairs)

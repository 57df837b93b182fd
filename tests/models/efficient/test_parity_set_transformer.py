"""Set Transformer against its equations, in float64."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
from parity_attention import attend, joined, normed, projected
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.core import FeedForward
from deepdive.models.efficient.set_transformer import ISAB, MAB, PMA, SAB, SetTransformer


def feed(ff: FeedForward, x: Tensor) -> Tensor:
    inner = (x @ ff.inner.weight.T + ff.inner.bias).clamp(min=0)
    return inner @ ff.out.weight.T + ff.out.bias


def mab(block: MAB, x: Tensor, y: Tensor, keys: Tensor) -> Tensor:
    """One set: x (T, 16) reads y (S, 16)."""
    q, k, v = projected(block.attn, x, y)
    heads = [attend(q[h], k[h], v[h], keys) for h in range(4)]
    h = normed(block.attn_residual, x + joined(block.attn, heads))
    return normed(block.ff_residual, h + feed(block.ff, h))


@parity(MAB, SAB, ISAB, PMA, SetTransformer)
def set_transformer_agrees() -> None:
    keys = real([7, 5], 7)
    for n_inducing in (3, None):
        ours = SetTransformer(3, 2, d_model=16, n_inducing=n_inducing, n_seeds=2)
        ours = perturb(ours.double())
        x = rows(2, 7, 3)
        output, sets = ours(x, keys), []
        for b in range(2):
            members = x[b] @ ours.enter.weight.T + ours.enter.bias
            for block in ours.encoder:
                if n_inducing is None:
                    members = mab(block.mab, members, members, keys[b])
                else:
                    heard = mab(block.read, block.inducing, members, keys[b])
                    members = mab(block.answer, members, heard, torch.ones(3).bool())
            pooled = mab(ours.pool.mab, ours.pool.seeds, feed(ours.pool.ff, members), keys[b])
            compared = mab(ours.compare.mab, pooled, pooled, torch.ones(2).bool())
            sets.append(compared @ ours.out.weight.T + ours.out.bias)
        expected = torch.stack(sets)
        equal(output, expected)
        leaves = {n: (p, p) for n, p in ours.named_parameters()}
        equal_gradients(output, expected, {"x": (x, x), **leaves})


def test_what_an_isab_passes_on_has_the_rank_of_its_inducing_rows() -> None:
    """All members' answers, before they are added, are mixtures of n_inducing rows."""
    isab, x = ISAB(16, 1, 3).double(), rows(1, 40, 16).detach()
    heard = isab.read(isab.inducing.expand(1, -1, -1), x)
    said = isab.answer.attn(x, memory=heard)[0] - isab.answer.attn.out.bias
    size = torch.linalg.svdvals(said)
    assert size[3] < 1e-9 * size[0] < size[2]


def without_layer(self: PMA, x: Tensor, mask: Tensor | None = None) -> Tensor:
    return self.mab(self.seeds.expand(len(x), -1, -1), x, mask)


def test_a_pooling_without_its_own_layer_is_seen() -> None:
    with mock.patch.object(PMA, "forward", without_layer), pytest.raises(AssertionError):
        set_transformer_agrees()

"""Clustered attention against loops over the paper's equations, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest import mock

import pytest
import torch
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity
from torch import Tensor, nn

from deepdive.attention.by_content.clustered import ClusteredAttention, ImprovedClusteredAttention
from deepdive.core import SoftmaxAttention
from deepdive.core.masks import Padding


def lloyd(code: Tensor, keys: Tensor, n_clusters: int, iterations: int) -> Tensor:
    """Clusters of one head by the definition, by counting signs that differ."""
    there = keys.nonzero().flatten().tolist()
    n = len(there)
    starts = [there[min(i * n // n_clusters if n > n_clusters else i, n - 1)]
              for i in range(n_clusters)]  # fmt: skip
    center = code[starts].clone()

    def nearest() -> Tensor:
        distance = torch.tensor([[(row != c).sum() for c in center] for row in code])
        return torch.tensor([int((d == d.min()).nonzero()[0]) for d in distance])

    group = nearest()
    for _ in range(iterations):
        for c in range(n_clusters):
            members = [t for t in there if group[t] == c]
            votes = code[members].sum(0)
            center[c] = torch.where(votes == 0, center[c], votes.sign())
        group = nearest()
    return group


def by_the_paper(
    mechanism: ClusteredAttention, q: Tensor, k: Tensor, v: Tensor, keys: Tensor
) -> Tensor:
    """One head at a time, T x S weights written out."""
    top = getattr(mechanism, "top", 0)
    T = q.shape[2]
    asked = keys if k.shape[2] == T else torch.ones(len(q), T).bool()
    output = torch.zeros(*q.shape[:3], v.shape[3], dtype=q.dtype)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            code = (q[b, h].float() @ mechanism.planes.float()).sign()
            group = lloyd(code, asked[b], mechanism.n_clusters, mechanism.iterations)
            for t in range(T):
                members = [s for s in range(T) if group[s] == group[t] and asked[b, s]]
                center = q[b, h, members].mean(0) if members else torch.zeros_like(q[b, h, 0])
                scores = k[b, h] @ center / math.sqrt(q.shape[3])
                weights = scores.masked_fill(~keys[b], -torch.inf).softmax(0)
                if top:
                    best = weights.argsort(descending=True)[:top]
                    best = best[keys[b, best]]
                    own = (k[b, h, best] @ q[b, h, t] / math.sqrt(q.shape[3])).softmax(0)
                    weights = weights.index_put((best,), weights[best].sum() * own)
                output[b, h, t] = weights @ v[b, h]
    return output


@parity(ClusteredAttention)
def clustered() -> None:
    clusters_agree(lambda: ClusteredAttention(6, 4, bits=16, iterations=3))


@parity(ImprovedClusteredAttention)
def improved() -> None:
    clusters_agree(lambda: ImprovedClusteredAttention(6, 4, top=5, bits=16, iterations=3))


def clusters_agree(make) -> None:  # type: ignore[no-untyped-def]
    """Odd lengths, more rows than a block holds, padding, queries and keys of other lengths."""
    for T, S in ((71, 71), (13, 21)):
        torch.manual_seed(T)
        ours = make().double()
        keys = real([S, S - 10], S)
        q, k, v = rows(2, 2, T, 6), rows(2, 2, S, 6, seed=1), rows(2, 2, S, 5, seed=2)
        output = ours(q, k, v, Padding(keys))
        expected = by_the_paper(ours, q, k, v, keys)
        asked = keys if T == S else torch.ones(2, T).bool()
        seen = asked[:, None, :, None].expand_as(output)
        output, expected = output[seen], expected[seen]
        equal(output, expected)
        equal_gradients(output, expected, {"q": (q, q), "k": (k, k), "v": (v, v)})


def weights_of(mechanism: nn.Module, q: Tensor, k: Tensor) -> Tensor:
    """What a mechanism gives each key, (B, H, T, S): its output for values of the identity."""
    identity = torch.eye(k.shape[2], dtype=k.dtype).expand(*k.shape[:3], k.shape[2])
    return mechanism(q, k, identity)


def test_weighing_the_best_keys_again_never_hurts() -> None:
    """Row by row, in the sum of absolute differences; and more clusters, or more keys, help."""
    q, k = (2 * rows(1, 2, 90, 8, seed=i).detach() for i in range(2))
    exact = weights_of(SoftmaxAttention(), q, k)
    errors = {}
    for n_clusters in (3, 30):
        for top in (0, 5, 45):
            torch.manual_seed(0)
            kind = ImprovedClusteredAttention if top else ClusteredAttention
            ours = kind(8, n_clusters, bits=63, **({"top": top} if top else {})).double()
            errors[n_clusters, top] = (weights_of(ours, q, k) - exact).abs().sum(-1)
        assert (errors[n_clusters, 5] <= errors[n_clusters, 0] + 1e-12).all()
        assert errors[n_clusters, 45].mean() < errors[n_clusters, 5].mean()
    assert errors[30, 0].mean() < errors[3, 0].mean()


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "padded queries in the means": (
        clustered,
        "deepdive.attention.by_content.clustered.all_real",
        lambda real, k: torch.ones(1, k.shape[2]).bool(),
    ),
    "the best keys of another cluster": (
        improved,
        "deepdive.attention.by_content.clustered.of_owner",
        lambda rows, owner: rows[:, :, :1].expand(-1, -1, owner.shape[2], -1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError, RuntimeError)):
        proof()

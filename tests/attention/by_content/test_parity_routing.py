"""Routing attention against its algorithm, written in loops, in float64."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity

from deepdive.attention.by_content.routing import RoutingAttention
from deepdive.core.masks import Causal, Padding


@parity(RoutingAttention)
def routing() -> None:
    """Roy et al. 2021, algorithm 1: the nearest rows of each centroid attend to each other."""
    keys = real([11, 7], 11)
    for causal in (False, True):
        ours = RoutingAttention(2, 4, 3, 5).double()
        q, k, v = rows(2, 2, 11, 4), rows(2, 2, 11, 4, seed=1), rows(2, 2, 11, 3, seed=2)
        mask = Padding(keys) & Causal() if causal else Padding(keys)
        means = ours.centroids.clone()
        output = ours.eval()(q, k, v, mask)
        expected = torch.zeros_like(output)
        held = torch.zeros(2, 2, 11)
        for b, h, c in [(b, h, c) for b in range(2) for h in range(2) for c in range(3)]:
            everyone = [t for t in range(11) if keys[b, t]]
            qn, kn = (F.layer_norm(x[b, h], (4,)) for x in (q, k))
            own_q, own_k = (
                sorted(everyone, key=lambda t: -(x[t] @ means[h, c]).item())[:5] for x in (qn, kn)
            )
            for t in own_q:
                shown = sorted(s for s in own_k if s <= t or not causal)
                if shown:
                    weights = (kn[shown] @ qn[t] / 2).softmax(0)
                    expected[b, h, t] = expected[b, h, t] + weights @ v[b, h][shown]
                    held[b, h, t] += 1
        expected = expected / held.clamp(min=1).unsqueeze(-1)
        equal(output, expected)
        equal_gradients(output, expected, {"q": (q, q), "k": (k, k), "v": (v, v)})
        assert (held > 1).any(), "no row is held twice"
        assert (held == 0).any(), "every row is held"


def test_centroids_follow_the_rows_nearest_to_them() -> None:
    ours = RoutingAttention(1, 4, 3, decay=0.9).double()
    q, k = rows(2, 1, 11, 4).detach(), rows(2, 1, 11, 4, seed=1).detach()
    keys, before = real([11, 7], 11), ours.centroids[0].clone()
    ours(q, k, q, Padding(keys))
    expected = before.clone()
    for c in range(3):
        steps = []
        for x in (F.layer_norm(q, (4,)), F.layer_norm(k, (4,))):
            real_rows = [x[b, 0, t] for b in range(2) for t in range(11) if keys[b, t]]
            own = [row for row in real_rows if int((before @ row).argmax()) == c]
            steps.append(torch.stack(own).mean(0) if own else before[c])
        moved = 0.9 * before[c] + 0.1 * (steps[0] + steps[1]) / 2
        expected[c] = F.layer_norm(moved, (4,))
    equal(ours.centroids[0], expected)
    kept = ours.eval().centroids.clone()
    ours(q, k, q)
    assert torch.equal(ours.centroids, kept), "nothing moves in evaluation"


def test_a_cluster_too_large_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = RoutingAttention.__init__

    def larger(self: RoutingAttention, h: int, d: int, n: int, size: int) -> None:
        kept(self, h, d, n, size + 1)

    monkeypatch.setattr(RoutingAttention, "__init__", larger)
    with pytest.raises(AssertionError):
        routing()

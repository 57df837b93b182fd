"""Sinkhorn attention against its equations, written in loops, in float64."""

from __future__ import annotations

import pytest
import torch
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.attention.by_content.sinkhorn import SinkhornAttention
from deepdive.core.masks import Causal, Padding


@parity(SinkhornAttention)
def sinkhorn() -> None:
    """Tay et al. 2020, section 3: balance, mix blocks, attend to the mixture and the own block."""
    keys, m = real([11, 7], 11), 3
    for causal in (False, True):
        ours = perturb(SinkhornAttention(2, 4, m, 5, iterations=3).double()).eval()
        q, k, v = rows(2, 2, 11, 4), rows(2, 2, 11, 4, seed=1), rows(2, 2, 11, 3, seed=2)
        output = ours(q, k, v, Padding(keys) & Causal() if causal else Padding(keys))
        expected = torch.zeros_like(output)
        for b, h in [(b, h) for b in range(2) for h in range(2)]:
            sort = balanced(ours, k[b, h], keys[b], h, causal)
            for t in range(11):
                i = t // m
                shown_k, shown_v = [], []
                for p in range(m):  # place p of the sorted block
                    parts = [j for j in range(4) if j * m + p < 11 and keys[b, j * m + p]]
                    parts = [j for j in parts if sort[i, j] > 0]
                    if parts:
                        for rows_of, into in ((k, shown_k), (v, shown_v)):
                            into.append(sum(sort[i, j] * rows_of[b, h, j * m + p] for j in parts))
                for s in range(i * m, min(i * m + m, 11)):
                    if keys[b, s] and (s <= t or not causal):
                        shown_k.append(k[b, h, s])
                        shown_v.append(v[b, h, s])
                if shown_k:
                    weights = (torch.stack(shown_k) @ q[b, h, t] / 2).softmax(0)
                    expected[b, h, t] = weights @ torch.stack(shown_v)
        equal(output, expected)
        leaves = {"q": (q, q), "k": (k, k), "v": (v, v)}
        leaves |= {n: (p, p) for n, p in ours.named_parameters()}
        equal_gradients(output, expected, leaves)


def balanced(ours: SinkhornAttention, k: Tensor, keys: Tensor, h: int, causal: bool) -> Tensor:
    """S (4, 4) of one head: sums of blocks, the network, rows and columns in turn."""
    m, k = 3, k * keys.unsqueeze(-1)
    blocks = [i for i in range(4) if keys[i * m : i * m + m].any()]
    logits = {}
    for i in blocks:
        x = k[: i * m + 1].sum(0) if causal else k[i * m : i * m + m].sum(0)
        inner = torch.relu(x @ ours.inner[h] + ours.inner_bias[h, 0])
        for j in blocks:
            if j < i or not causal:
                logits[i, j] = (inner @ ours.outer[h, :, j] / 0.75).exp()
    for turn in ("row", "column") * 3 if not causal else ("column", "row") * 3:
        sums = {
            (i, j): sum(
                w
                for (a, c), w in logits.items()
                if (a == i if turn == "row" else c == j and (a <= i or not causal))
            )
            for i, j in logits
        }
        logits = {at: w / sums[at] for at, w in logits.items()}
    zero = torch.zeros((), dtype=k.dtype)
    return torch.stack(
        [
            torch.stack([torch.as_tensor(logits.get((i, j), zero)) for j in range(4)])
            for i in range(4)
        ]
    )


def test_one_turn_fewer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from deepdive.attention.by_content import sinkhorn as part

    kept = part.balance
    monkeypatch.setattr(
        part, "balance", lambda x, a, n, causal=False: kept(x, a, n - 1, causal=causal)
    )
    with pytest.raises(AssertionError):
        sinkhorn()

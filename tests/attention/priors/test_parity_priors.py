"""Scores that nothing was asked for, and priors on scores: the papers' equations as loops."""

from __future__ import annotations

import pytest
import torch
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn

from deepdive.attention import (
    DenseScores,
    FactorizedDenseScores,
    FactorizedRandomScores,
    GaussianPrior,
    LocalAttention,
    RandomScores,
    SynthesizedAttention,
    TablePrior,
)
from deepdive.core import MultiHeadAttention
from deepdive.core.masks import Causal, Padding


def row_by_row(layer: SynthesizedAttention, x: Tensor, scores: Tensor, keys: Tensor) -> Tensor:
    """The layer's output for scores (B, H, T, T) that are known, by loops, under both masks."""
    B, T, d_model = x.shape
    H = layer.n_heads
    d = d_model // H
    v = x @ layer.v.weight.T + layer.v.bias
    out = []
    for b in range(B):
        for t in range(T):
            heads = []
            for h in range(H):
                seen = [s for s in range(t + 1) if keys[b, s]]
                powers = [scores[b, h, t, s].exp() for s in seen]
                part = v[b, :, h * d : h * d + d]
                mixed = [p / sum(powers) * part[s] for p, s in zip(powers, seen, strict=True)]
                heads.append(sum(mixed) if mixed else 0 * part[0])
            out.append(layer.out.weight @ torch.cat(heads) + layer.out.bias)
    return torch.stack(out).view(B, T, d_model)


def network(x: Tensor, inner: nn.Linear, part: slice, weight: Tensor, bias: Tensor) -> Tensor:
    """W_2 relu(W_1 x + b_1) + b_2 for one row and one head."""
    hidden = (inner.weight[part] @ x + inner.bias[part]).clamp(min=0)
    return hidden @ weight + bias[0]


def made(layer: SynthesizedAttention, x: Tensor) -> Tensor:
    """The scores (B, H, T, T) as Tay et al. 2021 write them, number by number."""
    scores, (B, T), H = layer.made, x.shape[:2], layer.n_heads
    rows_of: list[Tensor] = []
    for b in range(B):
        for h in range(H):
            for t in range(T):
                if isinstance(scores, RandomScores):
                    row = scores.table[h, t]
                elif isinstance(scores, FactorizedRandomScores):
                    pairs = [(scores.left[h, t] * r).sum() for r in scores.right[h]]
                    row = torch.stack(pairs)
                elif isinstance(scores, DenseScores):
                    d = scores.outer.weight.shape[1]
                    part, net = slice(h * d, h * d + d), scores.outer
                    row = network(x[b, t], scores.inner, part, net.weight[h], net.bias[h])
                else:
                    assert isinstance(scores, FactorizedDenseScores)
                    (a, c), d = scores.factors, scores.first.weight.shape[1]
                    parts = slice(h * d, h * d + d), slice((H + h) * d, (H + h) * d + d)
                    first, second = (
                        network(x[b, t], scores.inner, part, net.weight[h], net.bias[h])
                        for part, net in zip(parts, (scores.first, scores.second), strict=True)
                    )
                    row = torch.stack([first[s % a] * second[s % c] for s in range(a * c)])
                rows_of.append(row[:T])
    return torch.stack(rows_of).view(B, H, T, T)


KINDS = {
    DenseScores: lambda: DenseScores(12, 3, 10, d_hidden=5),
    RandomScores: lambda: RandomScores(3, 10),
    FactorizedDenseScores: lambda: FactorizedDenseScores(12, 3, (5, 2), d_hidden=5),
    FactorizedRandomScores: lambda: FactorizedRandomScores(3, 10, 2),
}


@parity(SynthesizedAttention, *KINDS)
def synthesizer() -> None:
    for make in KINDS.values():
        torch.manual_seed(0)
        layer = perturb(SynthesizedAttention(12, 3, make()).double())
        x, keys = rows(2, 7, 12), real([7, 5], 7)
        keys[1, 0] = False  # its first row sees nothing
        expected = row_by_row(layer, x, made(layer, x), keys)
        output = layer(x, mask=Causal() & Padding(keys))
        equal(output, expected)
        leaves = {"x": (x, x)} | {n: (p, p) for n, p in layer.named_parameters()}
        equal_gradients(output, expected, leaves)


def test_a_table_that_is_turned_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def turned(self: RandomScores, x: Tensor, start: int) -> Tensor:
        return self.table.mT[None, :, start : start + x.shape[1]]

    monkeypatch.setattr(RandomScores, "forward", turned)
    with pytest.raises(AssertionError):
        synthesizer()


def test_a_factor_that_is_stretched_instead_of_tiled_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stretched(self: FactorizedDenseScores, x: Tensor, start: int) -> Tensor:
        a, b = self.factors
        hidden = self.inner(x).relu().chunk(2, dim=-1)
        first = self.first(hidden[0]).repeat_interleave(b, -1)
        return first * self.second(hidden[1]).repeat(1, 1, 1, a)

    monkeypatch.setattr(FactorizedDenseScores, "forward", stretched)
    with pytest.raises(AssertionError):
        synthesizer()


def test_equal_factors_repeat_their_scores() -> None:
    """a = b: the scores come again after a places. a = 4, b = 3: twelve different products."""
    x = rows(1, 1, 12).detach()
    for a, b in ((3, 3), (4, 3)):
        scores = perturb(FactorizedDenseScores(12, 1, (a, b)).double())(x, 0).flatten()
        repeats = torch.equal(scores[:a], scores[a : 2 * a])
        assert repeats == (a == b)
        assert len(scores.unique()) == (a if a == b else a * b)


@parity(GaussianPrior)
def gaussian_prior() -> None:
    """Guo, Zhang and Liu 2019: -|w d^2 + b| for each pair of places."""
    prior = GaussianPrior(3, w=0.2, b=-0.7).double()
    with torch.no_grad():
        prior.w.add_(torch.tensor([0.1, -0.5, 0.0]).view(3, 1, 1))
    q, k, places = rows(2, 3, 3, 4), rows(2, 3, 6, 4), torch.arange(6)
    output = prior.bias(q, k, places[3:], places)
    expected = torch.stack(
        [
            torch.stack([-abs(w * (t - s) ** 2 + b) for s in range(6)])
            for w, b in zip(prior.w.flatten(), prior.b.flatten(), strict=True)
            for t in range(3, 6)
        ]
    ).view(3, 3, 6)
    equal(output, expected)
    equal_gradients(output, expected, {"w": (prior.w, prior.w), "b": (prior.b, prior.b)})
    by_batch = prior.bias(q, k, places[3:].expand(2, 3), places.expand(2, 6))
    equal(by_batch, expected.expand(2, 3, 3, 6))


def test_a_distance_that_is_not_squared_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "square", lambda x: x.abs())
    with pytest.raises(AssertionError):
        gaussian_prior()


@parity(TablePrior)
def table_prior() -> None:
    """Scores of queries and keys, and a number for each pair of places, through the layer."""
    layer = perturb(MultiHeadAttention(8, 2, position=TablePrior(2, 9)).double())
    x, places, T = rows(2, 5, 8), torch.tensor([1, 2, 4, 5, 8]), 5
    output = layer(x, positions=places)
    q, k, v = (
        rows_.unflatten(-1, (2, 4)).transpose(1, 2)
        for rows_ in (layer.q(x), *layer.kv(x).chunk(2, dim=-1))
    )
    heads = []
    for b in range(2):
        for h in range(2):
            for t in range(T):
                scores = [
                    (q[b, h, t] @ k[b, h, s]) / 2 + layer.position.table[h, places[t], places[s]]
                    for s in range(T)
                ]
                powers = [s.exp() for s in scores]
                heads.append(sum(p / sum(powers) * v[b, h, s] for s, p in enumerate(powers)))
    mixed = torch.stack(heads).view(2, 2, T, 4).transpose(1, 2).flatten(2)
    expected = mixed @ layer.out.weight.T + layer.out.bias
    equal(output, expected)
    leaves = {"x": (x, x)} | {n: (p, p) for n, p in layer.named_parameters() if "kv.b" not in n}
    equal_gradients(output, expected, leaves)


@parity(LocalAttention)
def local_attention() -> None:
    """Yang et al. 2018: P and D from each query, -(s - P)^2 / (2 sigma^2) with sigma = D / 2."""
    B, H, T, d = 2, 2, 6, 4
    ours = perturb(LocalAttention(H, d).double())
    q, k, v = (rows(B, H, T, d, seed=i) for i in range(3))
    keys = real([6, 4], T)
    out = []
    for b in range(B):
        length = int(keys[b].sum())
        for h in range(H):
            for t in range(T):
                hidden = torch.tanh(q[b, h, t] @ ours.hidden[h])
                p, z = (hidden @ ours.window[h, :, i] for i in (0, 1))
                P, D = length * torch.sigmoid(p), length * torch.sigmoid(z)
                scores = [
                    q[b, h, t] @ k[b, h, s] / d**0.5 - (s - P) ** 2 / (2 * (D / 2) ** 2)
                    for s in range(length)
                ]
                powers = [s.exp() for s in scores]
                out.append(sum(p / sum(powers) * v[b, h, s] for s, p in enumerate(powers)))
    expected = torch.stack(out).view(B, H, T, d)
    output = ours(q, k, v, Padding(keys))
    equal(output, expected)
    leaves = {"q": (q, q), "k": (k, k), "v": (v, v)}
    equal_gradients(output, expected, leaves | {n: (p, p) for n, p in ours.named_parameters()})


def test_a_center_that_is_one_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Tensor.cumsum
    monkeypatch.setattr(Tensor, "cumsum", lambda x, axis: kept(x, axis) + 1)
    with pytest.raises(AssertionError):
        local_attention()


def test_under_a_causal_mask_a_window_grows_with_what_is_seen() -> None:
    """Row t of the causal prior is the prior of the first t + 1 places alone."""
    ours = perturb(LocalAttention(2, 4).double())
    q, k = rows(1, 2, 6, 4).detach(), rows(1, 2, 6, 4, seed=1).detach()
    whole = ours.prior(q, k, Causal())
    for t in range(6):
        alone = ours.prior(q[:, :, t : t + 1], k[:, :, : t + 1])
        equal(whole[:, :, t : t + 1, : t + 1], alone)

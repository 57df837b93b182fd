"""Sparse by position, without a published model to load: the papers' equations, pair by pair."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity
from torch import Tensor

from deepdive._fast import factorized
from deepdive.attention import (
    AdaptiveSpanAttention,
    AxialAttention,
    FixedAttention,
    StridedAttention,
)
from deepdive.attention.by_position import adaptive_span as spans
from deepdive.attention.patterns import PatternAttention
from deepdive.core import SoftmaxAttention
from deepdive.core.hooks import collect_losses, record
from deepdive.core.masks import Causal, Padding

LENGTHS = ((13, 13), (12, 12), (5, 13), (1, 13))  # T, S: odd, even, the last rows, the last one
KEYS = real([13, 9], 13)


def sets(T: int, S: int, met: object) -> Tensor:
    """The mask (T, S) of a paper's rule met(t, s)."""
    assert callable(met)
    mask = [[bool(met(t, s)) for s in range(S)] for t in range(S - T, S)]
    return torch.tensor(mask)


def under(mask: Tensor, ours: PatternAttention, T: int, S: int, causal: bool) -> None:
    """In its sparse form and written out, with and without padding."""
    shapes = ((2, 2, T, 4), (2, 2, S, 4), (2, 2, S, 3))
    q, k, v = (rows(*shape, seed=i) for i, shape in enumerate(shapes))
    for keys in (torch.ones(2, S).bool(), KEYS[:, :S]):
        said = Padding(keys) & Causal() if causal else Padding(keys)
        with record(ours, "weights") as seen:
            explicit = ours(q, k, v, said)
        assert seen["weights"][0].shape == (2, 2, T, S)
        for output in (explicit, ours(q, k, v, said)):
            expected = F.scaled_dot_product_attention(q, k, v, mask & keys[:, None, None])
            equal(output, expected)
            equal_gradients(output, expected, {"q": (q, q), "k": (k, k), "v": (v, v)})


@parity(StridedAttention)
def strided() -> None:
    """A1 = {t - l, ..., t}, A2 = {s : (t - s) mod l = 0}; both before t."""
    for T, S in LENGTHS:
        for n in (1, 3, 4, 20):
            mask = sets(T, S, lambda t, s, n=n: s <= t and (t - s <= n or (t - s) % n == 0))
            under(mask, StridedAttention(n), T, S, causal=T == S)


@parity(FixedAttention)
def fixed() -> None:
    """A1 = {s : floor(s / l) = floor(t / l)}, A2 = {s : s mod l in {l - c, ..., l - 1}}."""
    for T, S in LENGTHS:
        for n, c in ((1, 1), (3, 1), (4, 2), (20, 3)):
            mask = sets(
                T, S, lambda t, s, n=n, c=c: s <= t and (s // n == t // n or s % n >= n - c)
            )
            under(mask, FixedAttention(n, c), T, S, causal=False)


@parity(AxialAttention)
def axial() -> None:
    for T, S in LENGTHS:
        for width in (1, 3, 4, 20):
            lines = {
                "row": sets(T, S, lambda t, s, w=width: t // w == s // w),
                "column": sets(T, S, lambda t, s, w=width: t % w == s % w),
            }
            for along, mask in lines.items():
                under(mask, AxialAttention(width, along), T, S, causal=False)
                before = mask & sets(T, S, lambda t, s: s <= t)
                under(before, AxialAttention(width, along), T, S, causal=True)


def test_two_layers_along_the_axes_reach_everything() -> None:
    """As many layers as axes: the product of the two masks has no empty entry."""
    row, column = (
        AxialAttention(4, along).pattern(1).dense(16)[0, 0] for along in ("row", "column")
    )
    assert not (row | column).all()
    assert (row.double() @ column.double() > 0).all()


def test_two_strided_steps_reach_every_position_before() -> None:
    for ours in (StridedAttention(4), FixedAttention(4, 1)):
        one = ours.pattern(1).dense(16)[0, 0].double()
        last = torch.ones(16, 16).tril().bool()
        assert not torch.equal(one > 0, last)
        assert torch.equal(one @ one > 0, last)


def by_the_paper(q: Tensor, k: Tensor, v: Tensor, z: Tensor, ramp: int, keys: Tensor) -> Tensor:
    """Equations 2 and 3 of Sukhbaatar et al., one weight at a time."""
    B, H, T, d = q.shape
    S = k.shape[2]
    output = []
    for b in range(B):
        for h in range(H):
            for t in range(T):
                place = S - T + t
                near = [s for s in range(place + 1) if keys[b, s]]
                mask = [((ramp + z[h] - (place - s)) / ramp).clamp(0, 1) for s in near]
                raw = [
                    m * (q[b, h, t] @ k[b, h, s] / math.sqrt(d)).exp()
                    for m, s in zip(mask, near, strict=True)
                ]
                total = sum(raw)
                mixed = sum(w * v[b, h, s] for w, s in zip(raw, near, strict=True))
                output.append(mixed / total if near else 0 * v[b, h, 0])
    return torch.stack(output).view(B, H, T, -1)


@parity(AdaptiveSpanAttention)
def adaptive_span() -> None:
    for T, S in ((9, 9), (2, 9)):
        ours = AdaptiveSpanAttention(2, 12, ramp=3, penalty=0.1).double()
        with torch.no_grad():
            ours.span.copy_(torch.tensor([-1.3, 0.4]))
        shapes = ((2, 2, T, 4), (2, 2, S, 4), (2, 2, S, 3))
        q, k, v = (rows(*shape, seed=i) for i, shape in enumerate(shapes))
        for keys in (torch.ones(2, S).bool(), real([9, 5], 9)):
            with record(ours, "weights"):
                explicit = ours(q, k, v, Padding(keys))
            for output in (explicit, ours(q, k, v, Padding(keys))):
                z = 12 * ours.span.sigmoid()
                expected = by_the_paper(q, k, v, z, 3, keys)
                equal(output, expected)
                leaves = {"q": (q, q), "k": (k, k), "v": (v, v), "span": (ours.span, ours.span)}
                equal_gradients(output, expected, leaves)
        with collect_losses(ours) as losses:
            ours(q, k, v)
        (gradient,) = torch.autograd.grad(losses.total(), [ours.span])
        share = ours.span.sigmoid()
        equal(gradient, 0.1 * 12 / 2 * share * (1 - share))


def test_short_spans_multiply_less() -> None:
    from deepdive_book.kit.flops import count_flops

    q = torch.randn(1, 2, 512, 8)
    counted = {}
    for start in (0.05, 0.5):
        ours = AdaptiveSpanAttention(2, 512, ramp=8, start=start)
        counted[start] = count_flops(lambda a=ours: a(q, q, q))
    full = count_flops(lambda: SoftmaxAttention()(q, q, q))
    assert counted[0.05] < 0.25 * full
    assert counted[0.05] < 0.4 * counted[0.5]


def test_what_a_proof_must_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ramp that is one too long, and a far key that stands among the near ones too."""
    kept = spans.AdaptiveSpanAttention._ramp
    monkeypatch.setattr(
        spans.AdaptiveSpanAttention, "_ramp", lambda self, behind: kept(self, behind - 1)
    )
    with pytest.raises(AssertionError):
        adaptive_span()
    padded = factorized._with_the_one_before
    monkeypatch.setattr(
        factorized, "_with_the_one_before", lambda rows: padded(rows).roll(1, dims=3)
    )
    with pytest.raises(AssertionError):
        strided()


def test_a_fixed_pattern_without_its_summary_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = FixedAttention.__init__

    def wider(self: FixedAttention, stride: int, summary: int = 1, **more: float) -> None:
        kept(self, stride, min(summary + 1, stride), **more)

    monkeypatch.setattr(FixedAttention, "__init__", wider)
    with pytest.raises(AssertionError):
        fixed()


def test_an_axis_for_the_other_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = AxialAttention.__init__

    def other(self: AxialAttention, width: int, along: str = "row") -> None:
        kept(self, width, {"row": "column", "column": "row"}[along])

    monkeypatch.setattr(AxialAttention, "__init__", other)
    with pytest.raises(AssertionError):
        axial()

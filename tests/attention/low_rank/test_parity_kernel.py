"""Linear attention and Performer against the weights of their features, written out in float64."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
import torch
from parity_attention import compare, leaves
from parity_proofs import real
from parity_registry import parity
from torch import Tensor, nn

from deepdive.attention.low_rank.kernel import LinearAttention
from deepdive.attention.low_rank.performer import PerformerAttention
from deepdive.core.masks import Causal, Padding


def by_features(phi: Callable[[Tensor, str], Tensor], attention: nn.Module) -> None:
    """Every weight from its two features, one by one; causal too, few queries, padding."""
    for T, S in ((7, 7), (3, 7)):
        for causal in (False, True):
            given = leaves(T, S)
            q, k, v = given
            keys, out = real([7, 5], 7), []
            for b in range(2):
                for h in range(2):
                    for t in range(T):
                        last = S - T + t if causal else S
                        seen = [s for s in range(S) if keys[b, s] and s <= last]
                        w = [phi(q[b, h, t], "q") @ phi(k[b, h, s], "k") for s in seen]
                        mixed = sum(x * v[b, h, s] for x, s in zip(w, seen, strict=True))
                        out.append(mixed / sum(w))
            mask = Padding(keys) & Causal() if causal else Padding(keys)
            compare(attention(q, k, v, mask), torch.stack(out).view(2, 2, T, 3), given)


@parity(LinearAttention)
def linear_attention() -> None:
    at_once_and_in_parts(lambda x, _: torch.where(x > 0, x + 1, x.exp()), LinearAttention(chunk=3))


@parity(PerformerAttention)
def performer() -> None:
    torch.manual_seed(0)
    attention = PerformerAttention(4, 10, chunk=3).double()

    def phi(x: Tensor, _: str) -> Tensor:
        x = x / 4**0.25
        return torch.stack([(w @ x - x @ x / 2).exp() for w in attention.drawn]) / 10**0.5

    at_once_and_in_parts(phi, attention)


def at_once_and_in_parts(phi: Callable[[Tensor, str], Tensor], attention: LinearAttention) -> None:
    """All rows at a time, and few: no part of the keys may have a scale of its own."""
    by_features(phi, attention)
    with mock.patch("deepdive._fast.kernel.ROWS", 2):
        by_features(phi, attention)


def without_norm(self: PerformerAttention, k: Tensor, real: Tensor, scale: float) -> Tensor:
    return scale**0.5 * k @ self.drawn.T


def test_features_without_their_norm_are_seen() -> None:
    """No minus |x|^2 / 2 in the exponents."""
    with (
        mock.patch.object(PerformerAttention, "_exponents", without_norm),
        pytest.raises(AssertionError),
    ):
        performer()

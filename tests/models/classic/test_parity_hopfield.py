"""The modern Hopfield network against torch's attention."""

from __future__ import annotations

from unittest import mock

import pytest
import torch.nn.functional as F
from laws import random_rows
from parity_registry import equal, equal_gradients, parity
from torch import Tensor

from deepdive.models.classic.hopfield import ModernHopfield


@parity(ModernHopfield)
def modern_hopfield() -> None:
    network = ModernHopfield(random_rows(7, 5), 0.6)
    state, theirs = (random_rows(3, 4, 5, seed=2).requires_grad_() for _ in range(2))
    patterns = network.patterns.detach().clone().requires_grad_()
    rows = patterns.expand(3, 7, 5)
    ours, reference = network(state), F.scaled_dot_product_attention(theirs, rows, rows, scale=0.6)
    equal(ours, reference, 1e-12)
    pairs = {"state": (state, theirs), "patterns": (network.patterns, patterns)}
    equal_gradients(ours, reference, pairs)


def without_scale(self: ModernHopfield, state: Tensor) -> Tensor:
    return state @ self.patterns.T


def test_a_scale_left_out_is_seen() -> None:
    with (
        mock.patch.object(ModernHopfield, "score", without_scale),
        pytest.raises(AssertionError),
    ):
        modern_hopfield()

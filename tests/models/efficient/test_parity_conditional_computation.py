"""Gated sublayers and their budget loss against loops over tokens, in float64."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.core import KVCache
from deepdive.core.hooks import record
from deepdive.core.masks import Causal
from deepdive.layers.gated_residual import GatedPreNorm, budget_loss
from deepdive.models.efficient.conditional_computation import tiny


def by_loops(joint: GatedPreNorm, x: Tensor, matrix: Tensor, hard: bool) -> tuple[Tensor, Tensor]:
    """One text, token by token, through a sublayer h -> h @ matrix."""
    output, gates = [], []
    hidden, out = joint.control[0], joint.control[2]
    for row in x:
        centered = row - row.mean()
        h = centered / (centered.pow(2).mean() + 1e-5).sqrt() * joint.norm.weight + joint.norm.bias
        inner = [
            max(h @ w + b, h.new_zeros(())) for w, b in zip(hidden.weight, hidden.bias, strict=True)
        ]
        logit = sum(w * a for w, a in zip(out.weight[0], inner, strict=True)) + out.bias[0]
        gate = (1.0 if logit > 0 else 0.0) * torch.ones_like(logit) if hard else logit.sigmoid()
        output.append(row + gate * (h @ matrix))
        gates.append(gate)
    return torch.stack(output), torch.stack(gates)


@parity(GatedPreNorm)
def gates_agree() -> None:
    joint = perturb(GatedPreNorm(16, d_control=8).double())
    assert isinstance(joint, GatedPreNorm)
    x, matrix, keys = rows(2, 7, 16), rows(16, 16, seed=1), real([7, 4], 7)
    for training in (True, False):
        joint.train(training)
        for budget in (0.1, 0.9):
            with record(joint, "gate") as seen:
                output = joint(x, lambda h: h @ matrix)
            texts = [by_loops(joint, row, matrix, not training) for row in x]
            gates = torch.stack([g for _, g in texts])
            assert gates[keys].min() < 0.5 < gates[keys].max()
            loss = budget_loss(seen["gate"], budget, keys)
            mean = sum(gates[b, t] for b in range(2) for t in range(7) if keys[b, t]) / 11
            ours = torch.cat((output.flatten(), 10 * loss.view(1)))
            expected = torch.cat((torch.stack([o for o, _ in texts]).flatten(),
                                  10 * (mean - budget).abs().view(1)))  # fmt: skip
            equal(ours, expected)
            used = {n: (p, p) for n, p in joint.named_parameters() if training or "norm" in n}
            equal_gradients(ours, expected, {"x": (x, x), "matrix": (matrix, matrix), **used})


def test_a_sublayer_runs_only_if_a_gate_is_open() -> None:
    joint, calls = GatedPreNorm(16).eval(), []
    torch.nn.init.constant_(joint.control[2].bias, -100.0)
    x = torch.randn(2, 3, 16)
    assert torch.equal(joint(x, lambda h: calls.append(1) or h), x)
    assert not calls
    joint.train()
    joint(x, lambda h: calls.append(1) or h)
    assert calls


def test_closed_gates_still_fill_a_cache() -> None:
    """A later token may attend to keys that an earlier one left, although its gate was closed."""
    stack, cache = tiny().eval(), KVCache()
    for block in stack.blocks:
        torch.nn.init.constant_(block.attn_residual.control[2].bias, -100.0)
    with torch.no_grad():
        stack(torch.randn(1, 3, 16), mask=Causal(), cache=cache)
    assert [slot.length for slot in cache.slots] == [3, 3]


def test_noise_acts_in_training_alone() -> None:
    joint, x = GatedPreNorm(16, noise=3.0), torch.randn(1, 4, 16)
    first, second = (joint(x, lambda h: h) for _ in range(2))
    assert not torch.equal(first, second)
    joint.eval()
    first, second = (joint(x, lambda h: h) for _ in range(2))
    assert torch.equal(first, second)


MUTATIONS: dict[str, tuple[str, object]] = {
    "soft gates in evaluation": (
        "deepdive.layers.gated_residual.GatedPreNorm.gates",
        lambda self, h: torch.sigmoid(self.control(h)),
    ),
    "a gate that reads the stream": (
        "deepdive.layers.gated_residual.GatedPreNorm.forward",
        lambda self, x, sublayer: x + self.gate(self.gates(x)) * sublayer(self.norm(x)),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError, RuntimeError)):
        gates_agree()

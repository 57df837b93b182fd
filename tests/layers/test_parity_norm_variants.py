"""ReZero and residuals without a norm against the layer of ReZero's released code (rztx.py), whose
equations are written here with torch's modules: one `resweight` for both sublayers of a layer.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, MultiHeadAttention, NoNorm, ReZero

D_MODEL, HEADS, D_FF = 12, 3, 20


def layer(residual: Callable[[int], nn.Module]) -> tuple[Block, nn.ModuleDict]:
    """Return a block, and torch's modules with its weights."""
    ours = Block(MultiHeadAttention(D_MODEL, HEADS), FeedForward(D_MODEL, D_FF), residual=residual)
    perturb(ours.double())
    theirs = nn.ModuleDict({
        "attn": nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True),
        "linear1": nn.Linear(D_MODEL, D_FF),
        "linear2": nn.Linear(D_FF, D_MODEL),
    }).double()  # fmt: skip
    attention = theirs["attn"]
    with torch.no_grad():
        attention.in_proj_weight.copy_(torch.cat([ours.attn.q.weight, ours.attn.kv.weight]))
        attention.in_proj_bias.copy_(torch.cat([ours.attn.q.bias, ours.attn.kv.bias]))
    attention.out_proj.load_state_dict(ours.attn.out.state_dict())
    theirs["linear1"].load_state_dict(ours.ff.inner.state_dict())
    theirs["linear2"].load_state_dict(ours.ff.out.state_dict())
    return ours, theirs


def released(theirs: nn.ModuleDict, x: Tensor, resweight: Tensor | float) -> Tensor:
    """The forward pass of RZTXEncoderLayer, without dropout."""
    x = x + theirs["attn"](x, x, x, need_weights=False)[0] * resweight
    return x + theirs["linear2"](F.relu(theirs["linear1"](x))) * resweight


@parity(ReZero)
def rezero() -> None:
    ours, theirs = layer(ReZero)
    resweight = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    alphas = ours.attn_residual.alpha, ours.ff_residual.alpha
    with torch.no_grad():
        for alpha in alphas:
            alpha.fill_(0.7)
    x = rows(2, 5, D_MODEL)
    output, expected = ours(x), released(theirs, x, resweight)
    equal(output, expected)
    pairs = {"x": (x, x), "inner": (ours.ff.inner.weight, theirs["linear1"].weight),
             "out": (ours.attn.out.weight, theirs["attn"].out_proj.weight)}  # fmt: skip
    each = torch.autograd.grad(
        output.pow(3).sum(), alphas, retain_graph=True
    )  # one per sublayer: their sum is theirs
    (shared,) = torch.autograd.grad(expected.pow(3).sum(), resweight, retain_graph=True)
    equal(each[0] + each[1], shared)
    equal_gradients(output, expected, pairs)


@parity(NoNorm)
def without_norm() -> None:
    ours, theirs = layer(NoNorm)
    x = rows(2, 5, D_MODEL)
    output, expected = ours(x), released(theirs, x, 1.0)
    equal(output, expected)
    pairs = {"x": (x, x), "inner": (ours.ff.inner.weight, theirs["linear1"].weight)}
    equal_gradients(output, expected, pairs)


def test_at_initialization_only_alpha_has_a_gradient() -> None:
    block = Block(MultiHeadAttention(D_MODEL, HEADS), FeedForward(D_MODEL, D_FF), residual=ReZero)
    x = torch.randn(2, 5, D_MODEL)
    assert torch.equal(block(x), x)
    block(x).pow(3).sum().backward()
    moved = {n for n, p in block.named_parameters() if p.grad is not None and p.grad.abs().sum()}
    assert moved == {"attn_residual.alpha", "ff_residual.alpha"}


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "no alpha": (rezero, "deepdive.core.ReZero.forward", NoNorm.forward),
    "alpha on the stream": (
        rezero,
        "deepdive.core.ReZero.forward",
        lambda self, x, sublayer: self.alpha * x + sublayer(x),
    ),
    "no skip connection": (
        without_norm, "deepdive.core.NoNorm.forward", lambda self, x, sublayer: sublayer(x)),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

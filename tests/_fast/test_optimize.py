"""`deepdive.optimize`: the same results, names and weights, by other layers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import deepdive
from deepdive._fast.optimize import FastDropout, FastLinear
from deepdive.core import Block, FeedForward, MultiHeadAttention
from deepdive.models.transformer import transformer
from deepdive.recurrent import LSTM

TOKENS = torch.randint(4, 32, (2, 7), generator=torch.Generator().manual_seed(0))


def test_it_computes_the_same() -> None:
    """Outputs and gradients in evaluation, names, weights, and the model itself."""
    torch.manual_seed(0)
    model = transformer.transformer(32, d_model=32, n_heads=4, n_layers=2, d_ff=64).eval()
    before, names = model(TOKENS, TOKENS), list(model.state_dict())
    before.sum().backward()
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    assert deepdive.optimize(model) is model
    after = model(TOKENS, TOKENS)
    after.sum().backward()
    assert torch.equal(before, after)
    assert list(model.state_dict()) == names
    for p, gradient in zip(model.parameters(), gradients, strict=True):
        assert p.grad is not None
        assert torch.equal(p.grad, gradient)
    with torch.inference_mode():
        assert (model(TOKENS, TOKENS) - before).abs().max() < 1e-5


def test_large_products_agree_to_rounding() -> None:
    block = Block(MultiHeadAttention(256, 4), FeedForward(256, 1024)).eval()
    x = torch.randn(4, 64, 256)
    with torch.no_grad():
        before = block(x)
        assert (deepdive.optimize(block)(x) - before).abs().max() < 1e-5


def test_what_is_replaced() -> None:
    """Plain linear and dropout layers, also one that is shared; no subclass."""

    class Own(nn.Linear):
        pass

    shared = nn.Linear(4, 4)
    model = nn.ModuleList([shared, shared, Own(4, 4), nn.Dropout(0.5), LSTM(4, 4)])
    deepdive.optimize(model)
    kinds = [type(part) for part in model]
    assert kinds == [FastLinear, FastLinear, Own, FastDropout, LSTM]
    assert model[0] is model[1]
    assert deepdive.optimize(nn.Linear(2, 2)).__class__ is FastLinear


@pytest.mark.parametrize("p", [0.0, 0.3])
def test_dropout_keeps_its_probability(p: float) -> None:
    assert deepdive.optimize(nn.Dropout(p)).p == p

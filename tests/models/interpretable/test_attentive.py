"""The classifier of the debate: equal to its equations, entry by entry, gradients included."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.core.hooks import record, replace
from deepdive.models.interpretable.attention_classifier import (
    AttentiveClassifier,
    UniformAttention,
    attentive,
    no_rnn,
)
from deepdive.recurrent.stacked import Bidirectional

TOKENS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 0, 0]])
REAL = TOKENS != 0


def by_hand(model: AttentiveClassifier, tokens: Tensor, length: int) -> Tensor:
    """The equations for one text (T,) without padding, state by state."""
    rows, encoder = model.embed.weight[tokens[:length]], model.encoder
    assert isinstance(encoder, Bidirectional)
    there = encoder.left_to_right(rows[None])[0]
    back = encoder.right_to_left(rows.flip(0)[None])[0].flip(0)
    h = torch.cat([there, back], -1)
    scores = [model.question @ (model.key.weight @ x + model.key.bias).tanh() for x in h]
    weights = torch.stack(scores).softmax(0)
    return model.classify.weight @ (weights @ h) + model.classify.bias


def test_it_is_its_equations() -> None:
    torch.manual_seed(0)
    model = attentive(12, 3, 5, 4).double()
    logits = model(TOKENS, REAL)
    ours = torch.autograd.grad(logits.sum().square(), list(model.parameters()))
    expected = torch.stack([by_hand(model, TOKENS[0], 5), by_hand(model, TOKENS[1], 3)])
    torch.testing.assert_close(logits, expected)
    theirs = torch.autograd.grad(expected.sum().square(), list(model.parameters()))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_padding_and_what_stands_there_change_nothing() -> None:
    torch.manual_seed(1)
    model = attentive(12, 2, 5, 4).double()
    other = TOKENS.masked_fill(~REAL, 7)
    torch.testing.assert_close(model(TOKENS, REAL), model(other, REAL))
    torch.testing.assert_close(model(TOKENS, REAL)[1:], model(TOKENS[1:, :3]))


def test_evenly_is_the_mean_of_the_states() -> None:
    torch.manual_seed(2)
    model = attentive(12, 2, 5, 4, UniformAttention()).double()
    with record(model, "states", "attention.weights") as seen:
        logits = model(TOKENS, REAL)
    h = seen["states"][0][1, :3]
    torch.testing.assert_close(logits[1], model.classify(h.mean(0)))
    expected = torch.tensor([1 / 3] * 3 + [0.0] * 2, dtype=torch.float64)
    torch.testing.assert_close(seen["attention.weights"][0][1, 0, 0], expected)


def test_the_answer_sees_the_states_through_the_weights_alone() -> None:
    torch.manual_seed(3)
    model = no_rnn(12, 2, 5, 4).double()
    first = torch.eye(5, dtype=torch.float64)[0].expand(2, 1, 1, 5)
    with replace(model, "attention.weights", first):
        logits = model(TOKENS, REAL)
    torch.testing.assert_close(logits, model.classify(model.embed(TOKENS[:, 0])))


def test_sizes_are_named() -> None:
    with pytest.raises(ValueError, match="n_classes"):
        attentive(12, 0)

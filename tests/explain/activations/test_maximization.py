"""Activation maximisation: its maximum where it is known, and the words that are nearest."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint, record
from deepdive.explain.activations.maximization import maximize, nearest
from deepdive.layers.heads import Classifier
from deepdive.models.bert import bert


class Of(nn.Module):
    """Any function of rows (1, S, d), with a hook point before it."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.rows, self.function = HookPoint(), function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.rows(x))


X = torch.zeros(1, 3, 4, dtype=torch.float64)


def test_the_maximum_of_a_linear_model_is_known() -> None:
    """For w . x and |x| = r it is r |w|, at r w / |w|, row by row; row 2 is not read."""
    w = torch.randn(3, 4).double()
    w[2] = 0
    model, seed = Of(lambda x: (x[0] * w).sum()[None]), torch.Generator().manual_seed(0)
    rows, reached = maximize(model, "rows", lambda: model(X), 2.0, generator=seed)
    torch.testing.assert_close(rows[:2], 2 * w[:2] / w[:2].norm(dim=-1, keepdim=True))
    assert reached == pytest.approx(2 * w.norm(dim=-1).sum().item())
    torch.testing.assert_close(rows.norm(dim=-1), torch.full((3,), 2.0).double())


def test_the_maximum_of_a_quadratic_form_is_its_largest_eigenvalue() -> None:
    a = torch.randn(4, 4).double()
    a = a @ a.T
    model = Of(lambda x: (x[0, 0] @ a @ x[0, 0])[None])
    rows, reached = maximize(model, "rows", lambda: model(X), 1.0, steps=300)
    values, vectors = torch.linalg.eigh(a)
    assert reached == pytest.approx(values[-1].item(), rel=1e-4)
    assert (rows[0] @ vectors[:, -1]).abs().item() == pytest.approx(1, abs=1e-3)


def test_the_planted_word_is_the_nearest() -> None:
    table = torch.randn(20, 8)
    model = Of(lambda x: (x[0] @ table[7]).tanh().sum()[None])
    rows, _ = maximize(model, "rows", lambda: model(torch.zeros(1, 2, 8)), 1.0)
    found = nearest(rows, table, 3)
    assert found.shape == (2, 3)
    assert (found[:, 0] == 7).all()


def test_no_text_of_a_classifier_says_as_much_as_its_maximum() -> None:
    torch.manual_seed(0)
    model = Classifier(bert.bert(bert.TINY, vocab_size=30), 32, 2).eval()
    point, tokens = "encoder.embeddings.embedded", torch.randint(0, 30, (64, 5))
    with record(model, point) as seen, torch.no_grad():
        said = model(tokens)[:, 0]
    norm = seen[point][0].norm(dim=-1).mean().item()
    rows, reached = maximize(model, point, lambda: model(tokens[:1])[0, :1], norm, steps=30)
    assert reached > said.max().item() + 0.01
    assert rows.shape == (5, 32)


def test_what_does_not_fit_is_refused() -> None:
    model = Of(lambda x: x[0, 0, :2])
    with pytest.raises(ValueError, match=r"returned \(2,\), expected one number"):
        maximize(model, "rows", lambda: model(X), 1.0)
    with pytest.raises(ValueError, match=r"norm: got .*, expected above 0"):
        maximize(model, "rows", lambda: model(X), 0.0)
    with pytest.raises(ValueError, match="1 to 20, the words"):
        nearest(torch.randn(2, 8), torch.randn(20, 8), 21)


def test_nearest_goes_by_the_angle_and_not_by_the_length() -> None:
    table = torch.tensor([[1.0, 0.1], [50.0, 50.0], [-1.0, 0.0]])
    assert nearest(torch.tensor([[3.0, 0.0]]), table, 3).tolist() == [[0, 1, 2]]

"""Games: batches, repeated sets, words and their pieces, errors."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.explain.games.game import Game, all_coalitions, grouped, margin
from deepdive.explain.games.removal import masked
from deepdive_book.ch07.toys.planted import SignedWords, ids

TEXT = torch.tensor([5, 6, 7, 8])
KEPT = torch.tensor([[True, False, True, False], [False, False, False, True]])


class Seen:
    """A score that remembers what it was given."""

    def __init__(self) -> None:
        self.calls: list[tuple[Tensor, ...]] = []

    def __call__(self, *given: Tensor) -> Tensor:
        self.calls.append(given)
        return given[0].sum(-1).double()


def test_batches_change_nothing_and_a_set_is_computed_once() -> None:
    model, text = SignedWords(), ids("good film and bad plot")
    kept = all_coalitions(5)
    expected = masked(model, text, 0, batch=1000)(kept)
    for batch in (1, 3, 32):
        assert torch.equal(masked(model, text, 0, batch)(kept), expected)
    seen = Seen()
    game = masked(seen, text, 0, batch=4)
    values = game(kept.repeat(10, 1))
    assert sum(len(tokens) for (tokens,) in seen.calls) == 32
    assert max(len(tokens) for (tokens,) in seen.calls) == 4
    assert torch.equal(values, game(kept).repeat(10))


def test_any_leading_sides() -> None:
    game = masked(Seen(), TEXT, 0)
    sets = all_coalitions(4).reshape(2, 8, 4)
    assert game(sets).shape == (2, 8)
    assert torch.equal(game(sets).flatten(), game(all_coalitions(4)))
    assert game(KEPT[0]).shape == ()


def test_the_pieces_of_a_word_stay_or_go_together() -> None:
    seen = Seen()
    owner = torch.tensor([-1, 0, 0, 1, -1])
    game = grouped(masked(seen, torch.tensor([1, 5, 6, 7, 2]), 0), owner)
    assert game.size == 2
    game(torch.tensor([[True, False], [False, True]]))
    assert sorted(seen.calls[-1][0].tolist()) == [[1, 0, 0, 7, 2], [1, 5, 6, 0, 2]]


def test_all_sets_are_all_sets() -> None:
    rows = all_coalitions(6)
    assert rows.shape == (64, 6)
    assert len({tuple(row) for row in rows.tolist()}) == 64
    assert rows[5].tolist() == [True, False, True, False, False, False]


def test_margin_is_positive_where_the_class_is_decided() -> None:
    logits = torch.randn(50, 4)
    for label in range(4):
        assert torch.equal(margin(logits, label) > 0, logits.argmax(1) == label)
    assert margin(torch.tensor([[1.0, 4.0, 2.5]]), 1).item() == 1.5


def test_errors_name_the_fix() -> None:
    game = masked(Seen(), TEXT, 0)
    with pytest.raises(ValueError, match=r"expected bool \(\.\.\., 4\)"):
        game(torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"got torch\.float32"):
        game(torch.ones(2, 4))
    with pytest.raises(ValueError, match="select the class"):
        Game(4, lambda kept: torch.zeros(len(kept), 2))(KEPT)
    with pytest.raises(ValueError, match="not finite for a text with 1 features left"):
        Game(4, lambda kept: kept.sum(1).double().sub(1).log())(KEPT)
    with pytest.raises(ValueError, match="always kept"):
        grouped(game, torch.tensor([0, 0, 2, -1]))
    with pytest.raises(ValueError, match="always kept"):
        grouped(game, torch.tensor([0, 0, 1]))
    with pytest.raises(ValueError, match="too many"):
        all_coalitions(30)

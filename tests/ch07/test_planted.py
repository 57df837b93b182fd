"""Planted models: what they say, that their causes are causes, their Shapley values by counting."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import pytest
import torch
from torch import Tensor

from deepdive.core.hooks import record
from deepdive.explain.games.game import all_coalitions
from deepdive.explain.games.removal import masked
from deepdive.explain.gradients import gradient_x_input
from deepdive_book.ch07.toys.planted import (
    WORDS,
    Conjunction,
    Keyword,
    Negation,
    Placed,
    Planted,
    SignedWords,
    ids,
)
from deepdive_book.ch07.toys.planted_attention import copying, decoy

MODELS = [SignedWords, Placed, Keyword, Conjunction, Negation, copying, decoy]


def texts(count: int = 12, length: int = 6) -> list[Tensor]:
    draw = torch.Generator().manual_seed(1)
    chosen = ids("great cast not awful film good and great")
    picks = torch.randint(len(chosen), (count, length), generator=draw)
    return list(chosen[picks])


def over_orders(model: Planted, text: Tensor) -> Tensor:
    """The mean over all orders of what each token adds: the definition, slowly."""
    values = masked(model, text, 0)(all_coalitions(len(text)))
    total = torch.zeros(len(text), dtype=torch.float64)
    orders = list(permutations(range(len(text))))
    for order in orders:
        before = 0
        for place in order:
            total[place] += values[before + 2**place] - values[before]
            before += 2**place
    return total / len(orders)


@pytest.mark.parametrize("make", MODELS)
def test_shapley_values_are_those_of_the_definition(make: type[Planted]) -> None:
    model = make()
    for text in texts(length=5):
        torch.testing.assert_close(model.shapley(text), over_orders(model, text))


@pytest.mark.parametrize("make", MODELS)
def test_the_cause_is_what_can_change_the_answer(make: type[Planted]) -> None:
    """A token is no cause exactly when blanking it changes the answer of no set of the others."""
    model = make()
    for text in texts():
        kept = all_coalitions(len(text))
        for place in range(len(text)):
            game = masked(model, text, 0)
            without = kept.clone()
            without[:, place] = False
            changes = (game(kept) - game(without)).abs().max() > 1e-6
            if make is copying:  # a head's weights sum to one: every word takes a little
                changes = (game(kept) - game(without)).abs().max() > 0.1
            assert changes == model.cause(text)[place]


def test_what_they_say() -> None:
    def said(model: Planted, text: str) -> float:
        return model(ids(text)[None]).item()

    assert said(SignedWords(), "the film was not good and awful") == -1
    assert said(Negation(), "the film was not good and not awful") == 1
    assert said(Placed(), "bad good") == -0.5
    assert said(Keyword(), "awful awful plot") == said(Keyword(), "awful") == 0.5
    assert said(Keyword(), "the plot") == -0.5
    assert said(Conjunction(), "the cast was great") == 0.5
    assert said(Conjunction(), "the film was great") == said(Conjunction(), "the cast") == -0.5
    assert said(copying(), "the great film bad") == pytest.approx(2, abs=0.03)
    assert said(decoy(), "the great film bad") == 1


def test_a_cause_may_have_a_shapley_value_of_zero() -> None:
    text = ids("the film was not good")
    assert Negation().cause(text).tolist() == [False, False, False, True, True]
    assert Negation().shapley(text).tolist() == [0, 0, 0, -1, 0]


def test_both_heads_look_alike_and_only_one_is_heard() -> None:
    for model, word in ((copying(), "great"), (decoy(), "film")):
        text = ids("the film was great")
        with record(model, "weights") as seen:
            model(text[None])
        weights = seen["weights"][0]
        assert weights.shape == (1, 1, 4, 4)
        torch.testing.assert_close(weights.sum(-1), torch.ones(1, 1, 4).double())
        looked = text == WORDS.index(word)
        assert (weights[0, 0, :, looked] > 0.99).all()
        assert bool(model.cause(text)[looked]) == (model.copied != 0)


def test_gradients_reach_the_rows() -> None:
    text = ids("not good film bad")
    for model, expected in ((SignedWords(), [0, 1, 0, -1]), (Placed(), [0, 0.5, 0, -0.125])):
        found = gradient_x_input(model, "embedded", partial(model, text[None]))
        assert found[0].tolist() == expected


def test_the_gradient_of_a_negated_word_is_not_its_shapley_value() -> None:
    text, model = ids("not good"), Negation()
    found = gradient_x_input(model, "embedded", lambda: model(text[None]))
    assert found[0].tolist() == [-2, -1]
    assert model.shapley(text).tolist() == [-1, 0]


def test_a_word_that_is_unknown_is_named() -> None:
    with pytest.raises(ValueError, match="'movie' is not one of"):
        ids("good movie")

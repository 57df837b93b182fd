"""Which method finds which planted cause: every one on every model, and each failure by its name.

A method recovers a cause when all its parts come before all others, by the size of their numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from deepdive.core.hooks import record
from deepdive.explain.evaluation.agreement import recovery
from deepdive.explain.games.anchors import anchor
from deepdive.explain.games.game import Game, all_coalitions
from deepdive.explain.games.lime import lime, weighted_ridge
from deepdive.explain.games.perturbation import (
    meaningful_perturbation,
    occlusion,
    prediction_difference,
    smallest_erasure,
)
from deepdive.explain.games.removal import masked
from deepdive.explain.games.shapley import kernel_shap, sampled_shapley, shapley
from deepdive.explain.gradients import gradient_x_input, integrated_gradients
from deepdive_book.ch07.toys.planted import (
    Conjunction,
    Keyword,
    Negation,
    Placed,
    Planted,
    SignedWords,
    ids,
)
from deepdive_book.ch07.toys.planted_attention import copying, decoy

CASES: dict[str, tuple[Planted, str]] = {
    "signed words": (SignedWords(), "the great film was awful and good"),
    "places": (Placed(), "good film was bad and the plot"),
    "a keyword": (Keyword(), "the film was awful and good"),
    "a keyword twice": (Keyword(), "awful film and awful cast"),
    "a conjunction": (Conjunction(), "the cast was great and good"),
    "a negation": (Negation(), "the film was not good"),
    "a copying head": (copying(), "the plot was great and bad"),
    "a head on a decoy": (decoy(), "the film was great and bad"),
}

Method = Callable[[Planted, Tensor, Game], Tensor]


def through_rows(method: Callable[..., Tensor]) -> Method:
    return lambda model, text, _: method(model, "embedded", lambda: model(text[None]))[0]


def of_game(method: Callable[[Game], Tensor]) -> Method:
    return lambda _model, _text, game: method(game)


def rounded(method: Callable[..., Tensor], decimals: int = 4) -> Callable[..., Tensor]:
    """Zero is zero, whatever the last digits of a solver say."""
    return lambda *given: method(*given).round(decimals=decimals)


def attention(model: Planted, text: Tensor, _: Game) -> Tensor:
    with record(model, "weights") as seen:
        model(text[None])
    return seen["weights"][0][0, 0, 0].detach()


def erased(game: Game) -> Tensor:
    found = smallest_erasure(game)
    return torch.zeros(game.size) if found is None else found.double()


def odds(model: Planted, text: Tensor, _: Game) -> Tensor:
    return prediction_difference(masked(lambda tokens: model(tokens).sigmoid(), text, 0))


METHODS: dict[str, tuple[Method, set[str]]] = {
    # What it takes from one word at a time, the other *awful* still gives.
    "leave-one-out": (of_game(occlusion), {"a keyword twice"}),
    "prediction difference": (odds, {"a keyword twice"}),
    # *good* gives as much alone as it takes behind *not*: its value is 0.
    "shapley": (of_game(shapley), {"a negation"}),
    "kernel shap": (of_game(rounded(kernel_shap)), {"a negation"}),
    "sampled shapley": (
        of_game(rounded(lambda game: sampled_shapley(game, 2000)[0], 1)),
        {"a negation"},
    ),
    "lime, over all sets": (
        of_game(
            rounded(
                lambda game: lime(
                    game, all_coalitions(game.size), 100.0, partial(weighted_ridge, penalty=0)
                )[0]
            )
        ),
        {"a negation"},
    ),
    "integrated gradients": (
        through_rows(rounded(lambda *a: integrated_gradients(*a)[0])),
        {"a negation"},
    ),
    # The slope at the text itself: it sees all of these, for none is flat there.
    "gradient x input": (through_rows(gradient_x_input), set()),
    # A smallest set, which is only a part of the cause where a part is enough, or turns nothing.
    "smallest erasure": (
        of_game(erased),
        {"signed words", "places", "a conjunction", "a negation", "a head on a decoy"},
    ),
    "meaningful perturbation": (
        through_rows(partial(meaningful_perturbation, steps=60)),
        {"signed words", "places", "a negation", "a head on a decoy"},
    ),
    "anchors": (
        lambda _m, _t, game: anchor(game).parts.double(),
        {"signed words", "places", "a keyword twice", "a negation", "a head on a decoy"},
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_finds_each_cause_but_those_named(name: str) -> None:
    method, fails = METHODS[name]
    missed = set()
    for case, (model, words) in CASES.items():
        text = ids(words)
        found = method(model, text, masked(model, text, 0)).abs()
        if recovery(found, model.cause(text)) < 1:
            missed.add(case)
    assert missed == fails


def test_attention_finds_what_is_copied_and_is_taken_in_by_a_decoy() -> None:
    for case, found in (("a copying head", True), ("a head on a decoy", False)):
        model, words = CASES[case]
        text = ids(words)
        weights = attention(model, text, masked(model, text, 0))
        assert (recovery(weights, model.cause(text)) == 1) == found

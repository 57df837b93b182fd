"""Anchors: precision by counting, the shortest rule by brute force."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.explain.games.anchors import anchor, exact_precision
from deepdive.explain.games.game import Game, all_coalitions
from deepdive.explain.games.removal import masked
from deepdive_book.ch07.toys.planted import (
    Conjunction,
    Keyword,
    Negation,
    Planted,
    SignedWords,
    ids,
)


def shortest(game: Game, precision: float) -> int:
    """The length of the shortest rule that holds the decision, over all rules."""
    rules = all_coalitions(game.size)
    holds = [rule for rule in rules if exact_precision(game, rule) >= precision]
    return min(int(rule.sum()) for rule in holds)


def test_exact_precision_by_hand() -> None:
    """*great* and *cast* decide: with neither kept both stay in a quarter of the texts."""
    game = masked(Conjunction(), ids("the cast was great"), 0)
    for parts, share in (([], 0.25), ([1], 0.5), ([1, 3], 1), ([0, 2], 0.25)):
        rule = torch.zeros(4, dtype=torch.bool)
        rule[parts] = True
        assert exact_precision(game, rule) == share


TEXTS: list[tuple[Planted, str, str]] = [
    (Keyword(), "the film was awful and the plot good", "awful"),
    (Conjunction(), "the cast and the film was great", "cast great"),
    (Negation(), "the film was not good", "not"),
    (SignedWords(), "the great film and the dull plot", "great"),
]


@pytest.mark.parametrize(("model", "text", "rule"), TEXTS)
def test_the_cause_is_found_and_its_precision_is_that_of_counting(
    model: Planted, text: str, rule: str
) -> None:
    tokens = ids(text)
    game = masked(model, tokens, 0)
    found = anchor(game)
    words = [word for word, in_it in zip(text.split(), found.parts.tolist(), strict=True) if in_it]
    assert found.found
    assert " ".join(words) == rule
    exact = exact_precision(game, found.parts)
    assert exact >= 0.95
    assert found.low <= exact
    assert found.precision == pytest.approx(exact, abs=0.03)
    assert found.parts.sum() == shortest(game, 0.95)
    assert found.coverage == 0.5 ** len(rule.split())


@pytest.mark.parametrize("seed", range(4))
def test_on_games_that_are_not_planted_no_rule_is_shorter(seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    w = torch.randn(6, generator=draw, dtype=torch.float64)
    pair = torch.randn(6, 6, generator=draw, dtype=torch.float64)

    def value(kept: Tensor) -> Tensor:
        z = kept.double()
        return z @ w + ((z @ pair) * z).sum(1)

    game = Game(6, value)
    found = anchor(game, seed=seed)
    assert found.found
    assert exact_precision(game, found.parts) >= 0.9  # precision less tolerance
    assert found.parts.sum() <= shortest(game, 0.95)


def test_texts_go_to_the_rules_that_are_hard_to_tell_apart() -> None:
    """Trying the worst inside and the best outside parts the beam from the rest in few rounds."""
    model, calls = Conjunction(), []

    def score(tokens: Tensor) -> Tensor:
        calls.append(len(tokens))
        return model(tokens)

    assert anchor(masked(score, ids("the cast and the film was great"), 0, batch=1000)).found
    assert len(calls) < 200


def test_a_decision_that_nothing_changes_needs_no_word() -> None:
    found = anchor(masked(Keyword(), ids("the film was good"), 0))
    assert found.parts.sum() == 0
    assert found.coverage == found.precision == 1


def test_a_beam_of_one_is_led_away_from_what_counts_only_together() -> None:
    """Three words of 0.4 against a threshold of 1; a lone word of 0.9 looks better at first."""
    w = torch.tensor([0.9, 0.4, 0.4, 0.4, 0.0]).double()

    def value(kept: Tensor) -> Tensor:
        together = kept[:, 1:4].all(1).double() * 2
        return kept.double() @ w + together - 1.85

    game = Game(5, value)
    wide = anchor(game, beam=6)
    assert wide.found
    assert wide.parts.sum() == shortest(game, 0.95)
    assert anchor(game, beam=1).parts.sum() >= wide.parts.sum()


def test_where_no_short_rule_holds_it_is_the_whole_text_or_says_so() -> None:
    parity = Game(4, lambda kept: (kept.sum(1) % 2 == 0).double() - 0.5)
    found = anchor(parity)
    assert found.found
    assert found.parts.all()


def test_a_seed_fixes_the_answer_and_errors_name_the_argument() -> None:
    game = masked(SignedWords(), ids("the great film and the dull plot"), 0)
    one, other = anchor(game, seed=3), anchor(game, seed=3)
    assert torch.equal(one.parts, other.parts)
    assert (one.precision, one.texts) == (other.precision, other.texts)
    with pytest.raises(ValueError, match=r"precision=1\.5"):
        anchor(game, precision=1.5)
    with pytest.raises(ValueError, match=r"tolerance=0"):
        anchor(game, tolerance=0)
    with pytest.raises(ValueError, match="beam=0"):
        anchor(game, beam=0)

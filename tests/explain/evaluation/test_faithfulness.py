"""Measures of faithfulness: their laws, planted truth against wrong answers, and where they err."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations

import pytest
import torch
from torch import Tensor

from deepdive.explain.evaluation.faithfulness import (
    area,
    comprehensiveness,
    deletion,
    insertion,
    random_orders,
    rank,
    sufficiency,
)
from deepdive.explain.games.game import Game
from deepdive.explain.games.removal import masked, resampled
from deepdive.explain.games.samplers import background
from deepdive.explain.games.shapley import shapley
from deepdive_book.ch07.toys.planted import Conjunction, Keyword, Placed, Planted, SignedWords, ids
from deepdive_book.ch07.toys.planted_attention import decoy

TEXT = ids("the great film was good and the plot not awful")


def table(size: int, seed: int = 0) -> Game:
    draw = torch.Generator().manual_seed(seed)
    numbers = torch.randn(2**size, generator=draw, dtype=torch.float64)
    return Game(size, lambda kept: numbers[kept.long() @ 2 ** torch.arange(size)])


def first(size: int, *places: int) -> Tensor:
    """The explanation that names these places, in this order, and then the others by place."""
    attribution = torch.zeros(size)
    for value, place in enumerate(reversed(places), start=1):
        attribution[place] = value
    return attribution


def test_curves_by_hand() -> None:
    numbers = torch.tensor([0.0, 1.0, 2.0, 5.0])  # none, part 0, part 1, both
    game = Game(2, lambda kept: numbers[kept.long() @ torch.tensor([1, 2])])
    names_0 = torch.tensor([2.0, 1.0])
    assert deletion(game, names_0).tolist() == [5, 2, 0]
    assert insertion(game, names_0).tolist() == [0, 1, 5]
    assert area(deletion(game, names_0)).item() == pytest.approx((3.5 + 1) / 2)
    assert comprehensiveness(game, names_0, [0.5, 1.0]).item() == pytest.approx((3 + 5) / 2)
    assert sufficiency(game, names_0, [0.5, 1.0]).item() == pytest.approx((4 + 0) / 2)


def test_insertion_is_deletion_read_backwards() -> None:
    game, orders = table(6), random_orders(6, 7)
    torch.testing.assert_close(insertion(game, orders), deletion(game, -orders).flip(-1))
    ends = deletion(game, orders)[:, [0, -1]]
    assert (ends == torch.stack([game.everything(), game.nothing()])).all()


def test_many_explanations_are_measured_as_each_alone() -> None:
    game, orders = table(6), random_orders(6, 8).reshape(2, 4, 6)
    for measure in (deletion, insertion, comprehensiveness, sufficiency):
        together = measure(game, orders)
        assert together.shape[:2] == (2, 4)
        torch.testing.assert_close(together[1, 2], measure(game, orders[1, 2]))


def test_the_mean_over_all_orders_is_half_way_where_words_add_up() -> None:
    game = masked(SignedWords(), ids("great film awful good"), 0)
    orders = torch.tensor(list(permutations(range(4))))
    half = (game.everything() + game.nothing()) / 2
    for curve in (deletion(game, orders), insertion(game, orders)):
        torch.testing.assert_close(area(curve).mean(), half)


@pytest.mark.parametrize("model", [SignedWords(), Placed(), decoy()])
def test_where_words_add_up_no_order_beats_the_truth(model: Planted) -> None:
    """Of 500 drawn orders none is better, and the reverse is the worst, by all four."""
    game, truth = masked(model, TEXT, 0), model.shapley(TEXT)
    orders = torch.cat([random_orders(len(TEXT), 500), -truth[None]])
    measures: dict[str, Callable[[Tensor], Tensor]] = {
        "deletion": lambda a: -area(deletion(game, a)),
        "insertion": lambda a: area(insertion(game, a)),
        "comprehensiveness": lambda a: comprehensiveness(game, a),
        "sufficiency": lambda a: -sufficiency(game, a),
    }
    for name, measure in measures.items():
        scores, best = measure(orders), measure(truth)
        assert best >= scores.max() - 1e-9, name
        assert scores[-1] <= scores.min() + 1e-9, name
        assert best > scores.mean() + scores.std(), name


# -- where a measure prefers a wrong explanation


def test_comprehensiveness_of_one_word_overlooks_a_keyword_that_stands_twice() -> None:
    """Keyword: a half each. *good* counts a third, and is preferred."""

    def score(tokens: Tensor) -> Tensor:
        return Keyword()(tokens) + SignedWords({"good": 0.3})(tokens)

    game = masked(score, ids("awful film good and awful"), 0)
    truth, wrong = shapley(game), first(5, 2)
    assert rank(truth.round(decimals=6)).tolist() == [0, 3, 2, 4, 1]  # the first of equals first
    one = [0.1]
    assert comprehensiveness(game, wrong, one) > comprehensiveness(game, truth, one)
    assert area(deletion(game, truth)) < area(deletion(game, wrong))  # the whole curve sees it


def test_sufficiency_of_one_word_overlooks_a_conjunction() -> None:
    def score(tokens: Tensor) -> Tensor:
        return Conjunction()(tokens) + SignedWords({"good": 0.3})(tokens)

    game = masked(score, ids("great film good and cast"), 0)
    truth, wrong = shapley(game), first(5, 2)
    assert rank(truth.round(decimals=6))[[0, 4]].tolist() == [0, 1]
    one = [0.1]
    assert sufficiency(game, wrong, one) < sufficiency(game, truth, one)
    assert area(insertion(game, truth)) > area(insertion(game, wrong))


def test_deletion_favours_conjunctions_and_insertion_alternatives() -> None:
    """Four words of like value: two *awful*, of which one is enough; *great* and *cast*, of which
    both are needed. To delete, break the pair first; to insert, name one *awful* first.
    """

    def score(tokens: Tensor, pair: float) -> Tensor:
        return Keyword()(tokens) + pair * Conjunction()(tokens)

    text = ids("awful awful great cast")
    for pair, worth in ((0.9, [0.5, 0.5, 0.45, 0.45]), (1.1, [0.5, 0.5, 0.55, 0.55])):
        game = masked(partial(score, pair=pair), text, 0)
        truth = shapley(game)
        assert truth.tolist() == pytest.approx(worth)
        names_pair, names_single = first(4, 2, 0, 1, 3), first(4, 0, 2, 3, 1)
        if pair < 1:  # *awful* is worth more, and deletion prefers half of the pair
            assert area(deletion(game, names_pair)) < area(deletion(game, truth))
        else:  # the pair is worth more, and insertion prefers one *awful*
            assert area(insertion(game, names_single)) > area(insertion(game, truth))


def test_blanks_prefer_a_full_stop_that_every_text_has() -> None:
    """The keyword decides every text that there is, since each ends in a full stop. A model that
    never saw a text without one may do anything there: all measures that blank it out prefer it.
    Words drawn from texts restore the order.
    """
    model = SignedWords({"awful": 1.0, ".": 2.0})
    texts = torch.stack([ids("the film was awful ."), ids("the plot was good .")])
    text = texts[0]
    keyword, stop = first(5, 3), first(5, 4)
    blank = masked(model, text, 0)
    anew = resampled(model, text, background(texts))
    assert shapley(blank).tolist() == pytest.approx([0, 0, 0, 1, 2])
    assert shapley(anew).tolist() == pytest.approx([0, 0, 0, 0.5, 0])
    for game, preferred, other in ((blank, stop, keyword), (anew, keyword, stop)):
        assert area(deletion(game, preferred)) < area(deletion(game, other))
        assert area(insertion(game, preferred)) > area(insertion(game, other))
        assert comprehensiveness(game, preferred) > comprehensiveness(game, other)
        assert sufficiency(game, preferred) < sufficiency(game, other)


def test_shares_are_rounded_up_and_errors_name_the_fix() -> None:
    game = Game(10, lambda kept: kept.sum(1))
    assert comprehensiveness(game, torch.arange(10)).item() == pytest.approx(
        (1 + 1 + 1 + 2 + 5) / 5
    )
    assert rank(torch.tensor([1.0, 3.0, 1.0, 2.0])).tolist() == [2, 0, 3, 1]
    assert random_orders(4, 3).shape == (3, 4)
    with pytest.raises(ValueError, match=r"\(\.\.\., 10\)"):
        deletion(game, torch.zeros(9))
    with pytest.raises(ValueError, match="shares: got"):
        sufficiency(game, torch.zeros(10), [0.0])

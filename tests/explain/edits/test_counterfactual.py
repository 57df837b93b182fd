"""Counterfactuals: brute force, known edits on planted models."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.explain.edits.counterfactual import candidates, greedy, smallest
from deepdive_book.ch07.toys.planted import (
    SIGNS,
    WORDS,
    Conjunction,
    Keyword,
    Negation,
    Placed,
    Planted,
    SignedWords,
    ids,
)

EVERY = range(1, len(WORDS))


def words(text: Tensor | None) -> str:
    assert text is not None
    return " ".join(WORDS[i] for i in text.tolist())


def test_the_word_that_decides_is_the_one_that_is_changed() -> None:
    for model, text, places in (
        (Keyword(), "the film was awful", [3]),
        (Conjunction(), "the cast was great", [1]),  # or 3: either half
        (Negation(), "the film was not good", [3]),
    ):
        tokens = ids(text)
        for search in (smallest, greedy):
            found = search(model, tokens, candidates(tokens, EVERY))
            assert found is not None
            assert (found != tokens).nonzero().flatten().tolist() == places
            assert (model(found[None]) > 0) != (model(tokens[None]) > 0)


def test_of_the_smallest_the_one_furthest_past_the_threshold() -> None:
    tokens = ids("the film was good")
    found = smallest(SignedWords(), tokens, candidates(tokens, EVERY))
    assert words(found) == "the film was awful"


def changes(model: Planted, tokens: Tensor, among: range) -> int | None:
    """The fewest changes of all texts of these words, slowly."""
    texts = torch.cartesian_prod(*[torch.tensor([own, *among]) for own in tokens.tolist()])
    turned = (model(texts) > 0) != (model(tokens[None]) > 0)
    return int((texts != tokens).sum(1)[turned].min()) if turned.any() else None


@pytest.mark.parametrize("make", [SignedWords, Placed, Keyword, Conjunction, Negation])
def test_the_smallest_is_that_of_brute_force(make: type[Planted]) -> None:
    model, among = make(), range(9, 13)  # very, not, good, great
    draw = torch.Generator().manual_seed(2)
    for _ in range(4):
        tokens = torch.randint(9, len(WORDS), (4,), generator=draw)
        expected = changes(model, tokens, among)
        found = smallest(model, tokens, candidates(tokens, among), most=4)
        step = greedy(model, tokens, candidates(tokens, among))
        if found is None:
            assert expected is None
            assert step is None
        else:
            assert expected is not None
            assert (found != tokens).sum() == expected
            assert step is None or (step != tokens).sum() >= expected


def test_greedy_finds_no_two_changes_that_count_only_together() -> None:
    tokens, model = ids("the film was"), Conjunction()
    among = ids("great cast").tolist()
    assert words(smallest(model, tokens, candidates(tokens, among))) in {
        "great cast was", "cast great was", "great film cast",
        "cast film great", "the great cast", "the cast great",
    }  # fmt: skip
    assert greedy(model, tokens, candidates(tokens, among), most=1) is None


def test_greedy_takes_back_what_is_not_needed() -> None:
    """*fine* to *bad* is the largest single step, but both *good* must go, and then it need not."""

    def score(tokens: Tensor) -> Tensor:
        good = (tokens == WORDS.index("good")).sum(1)
        fine = (tokens == WORDS.index("fine")).sum(1)
        return torch.where(good == 0, -1.0, good + 1.5 * fine)

    tokens = ids("fine good good")
    among = ids("bad").tolist()
    found = greedy(score, tokens, candidates(tokens, among))
    assert words(found) == "fine bad bad"


def test_a_place_without_words_stays_and_a_no_turns_above_the_threshold_only() -> None:
    tokens = ids("awful film awful")
    choices = candidates(tokens, EVERY)
    choices[0] = []
    assert smallest(Keyword(), tokens, choices, most=3) is None
    assert greedy(Keyword(), tokens, choices) is None
    tokens = ids("the film was bad")
    blank: list[list[int]] = [[], [], [], [WORDS.index("the")]]
    assert smallest(SignedWords(), tokens, blank) is None  # to 0, which is a no too
    assert greedy(SignedWords(), tokens, blank) is None
    assert words(smallest(SignedWords(), tokens, blank, threshold=-0.5)) == "the film was the"


def test_candidates_leave_the_word_itself_out_and_errors_name_the_fix() -> None:
    tokens = ids("good film")
    assert candidates(tokens, [1, 2, int(tokens[0])]) == [[1, 2], [1, int(tokens[0])]]
    assert set(SIGNS) < set(WORDS)
    model = SignedWords()
    with pytest.raises(ValueError, match="one list of words per position"):
        greedy(model, tokens, [[1]])

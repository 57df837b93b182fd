"""The tasks that ask how long a network remembers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest

from deepdive.data import DataError, Generated
from deepdive_book.data.memory import adding_problem, copy_memory, dyck_depths, dyck_words

MAKERS: dict[str, Callable[[int], Generated[object]]] = {
    "copy_memory": lambda seed: copy_memory(50, 20, seed=seed),  # type: ignore[dict-item]
    "adding_problem": lambda seed: adding_problem(50, 20, seed),  # type: ignore[dict-item]
    "dyck_words": lambda seed: dyck_words(50, 20, seed=seed),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_seed_gives_one_list_that_says_it_is_generated(name: str) -> None:
    one, again, other = MAKERS[name](0), MAKERS[name](0), MAKERS[name](1)
    assert one == again != other
    assert one.generated
    assert one.source.startswith(name)


@pytest.mark.parametrize("length", [9, 20])
def test_copy_asks_for_what_was_shown(length: int) -> None:
    seen = set()
    for tokens, targets in copy_memory(200, length):
        assert len(tokens) == len(targets) == length
        assert tokens[-5] == 1
        assert tokens.count(1) == 1
        assert targets[-4:] == tokens[:4]
        assert set(targets[:-4]) == {-100}
        assert set(tokens[4:-5]) <= {0}
        assert set(tokens[-4:]) == {0}
        seen |= set(tokens[:4])
    assert seen == {2, 3, 4, 5}


def test_the_adding_problem_adds_the_two_marked_values() -> None:
    first, second = set(), set()
    errors = []
    for rows, total in adding_problem(2000, 7):
        marked = [t for t, (_, mark) in enumerate(rows) if mark]
        assert len(marked) == 2
        assert total == sum(rows[t][0] for t in marked)
        assert all(0 <= value < 1 for value, _ in rows)
        first.add(marked[0])
        second.add(marked[1])
        errors.append((total - 1) ** 2)
    assert (first, second) == ({0, 1, 2}, {3, 4, 5, 6})
    assert sum(errors) / 2000 == pytest.approx(1 / 6, abs=0.015)


def test_every_dyck_word_is_drawn_and_none_more_than_another() -> None:
    """All 14 shapes of 8 brackets, by trying all; each about as often as the next."""
    shapes = set()
    for steps in product((1, -1), repeat=8):
        heights = [sum(steps[: t + 1]) for t in range(8)]
        if min(heights) >= 0 and heights[-1] == 0:
            shapes.add(tuple(heights))
    drawn = Counter(tuple(dyck_depths(word)) for word in dyck_words(7000, 8))
    assert set(drawn) == shapes
    assert len(shapes) == 14
    assert all(400 < count < 600 for count in drawn.values()), drawn


def test_dyck_words_have_all_kinds() -> None:
    words = dyck_words(100, 20, kinds=3)
    assert {bracket for word in words for bracket in word} == set(range(6))
    assert dyck_depths([0, 2, 3, 1]) == [1, 2, 1, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: copy_memory(3, 8), "length: 8, .* at least 9"),
        (lambda: copy_memory(0, 20), "n: 0"),
        (lambda: adding_problem(3, 1), "length: 1"),
        (lambda: dyck_words(3, 7), "length: 7, expected an even number"),
        (lambda: dyck_words(3, 8, kinds=0), "kinds: 0"),
        (lambda: dyck_depths([0, 3]), "bracket 3 at place 1 closes no 2"),
        (lambda: dyck_depths([0]), "1 brackets are left open"),
        (lambda: dyck_depths([1]), "bracket 1 at place 0"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()

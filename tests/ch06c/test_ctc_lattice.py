"""The lattice's integers are those of the library, in Python and in the browser."""

from __future__ import annotations

import itertools
import re
from math import prod

import pytest
import torch
from browser import Reader
from hypothesis import given, settings
from hypothesis import strategies as st

from deepdive.training.objectives import collapse, ctc_loss
from deepdive_book.ch06c.figures import ctc_pipeline
from deepdive_book.ch06c.figures.ctc_lattice import (
    TOGETHER,
    ctc_lattice,
    equation,
    greedy_of,
    sums,
    verdict,
)
from deepdive_book.kit.markup import Html

CAT = {"-": [2, 2, 2, 2, 2], "c": [2, 1, 0, 0, 0], "a": [0, 1, 2, 1, 0], "t": [0, 0, 0, 1, 2]}
TOO = {"-": [1, 1, 2, 1, 2], "t": [2, 2, 0, 0, 0], "o": [1, 1, 2, 3, 2]}
WORDS = {"cat": CAT, "too": TOO}


def picture() -> Html:
    return ctc_lattice(WORDS)


def paths(word, parts, through=None):
    """The sum over all paths of the word, one by one; of those that say a state in a frame."""
    symbols, total = [*parts], 0
    for path in itertools.product(range(len(symbols)), repeat=len(parts["-"])):
        if "".join(symbols[k] for k in collapse(path)) == word:
            weight = prod(parts[symbols[k]][t] for t, k in enumerate(path))
            total += weight if through is None or symbols[path[through[1]]] == through[0] else 0
    return total


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=20, max_size=20))
def test_its_numbers_are_sums_over_paths_and_the_library_s_loss(values):
    parts = {s: values[5 * k : 5 * k + 5] for k, s in enumerate("-cat")}
    found = sums("cat", parts)
    assert found.word == paths("cat", parts)
    assert found.whole == prod(sum(row[t] for row in parts.values()) for t in range(5))
    for t in range(5):
        assert sum(row[t] for row in found.through) == found.word
        for s in (1, 3, 5):
            assert found.through[s][t] == paths("cat", parts, (found.states[s], t))
    if found.word and all(sum(row[t] for row in parts.values()) for t in range(5)):
        logits = torch.tensor([*parts.values()], dtype=torch.float64).T.log()[None]
        sizes = torch.tensor([5]), torch.tensor([[1, 2, 3]]), torch.tensor([3])
        assert float((-ctc_loss(logits, *sizes)).exp()) == pytest.approx(found.word / found.whole)


def test_equal_letters_need_a_blank():
    found = sums("too", TOO)
    assert found.word == paths("too", TOO)
    assert sums("too", {s: row[:4] for s, row in TOO.items()}).word == 2 * 1 * 0 + 2 * 1 * 2 * 3
    assert sums("too", {s: row[:3] for s, row in TOO.items()}).word == 0


def test_what_it_tells():
    assert (
        equation("cat", CAT, 1, 0)
        == "Frame 1, character c: an alignment may start here: 1; times 2 is 2."
    )
    assert equation("cat", CAT, 5, 0).startswith(
        "Frame 1, character t: no alignment starts here: 0"
    )
    assert equation("cat", CAT, 1, 1) == "Frame 2, character c: 2 + 2 = 4 enter; times 1 is 4."
    assert equation("too", TOO, 5, 4).startswith("Frame 5, second o: ")
    assert greedy_of(CAT) == (["-"] * 5, "")
    told = verdict("cat", CAT).replace(TOGETHER, " ")
    assert told.endswith("- - - - -, which collapses to the empty text.")
    assert greedy_of(TOO)[1] == "to"


def test_the_reader_s_numbers_are_the_same(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, total = page.locator(".living-status"), page.locator(".lattice-sum")
    for word, parts in WORDS.items():
        now = {s: [*row] for s, row in parts.items()}
        page.locator("select").select_option(word)
        assert total.inner_text() == verdict(word, now)
        for symbol, t in (("-", 0), ("t", 4), ("-", 2), ("-", 2), ("-", 2)):
            button = page.locator(f"[aria-label^='frame {t + 1}, {symbol}:']")
            button.click()
            now[symbol][t] = (now[symbol][t] + 1) % 5
            assert button.inner_text() == str(now[symbol][t])
            assert total.inner_text() == verdict(word, now)
        found = sums(word, now)
        shown = page.locator(".lattice-node text").all_text_contents()
        assert shown == [str(value) for row in found.ways for value in row]
        for s, t in ((3, 2), (0, 0), (6, 4)):
            page.locator(".lattice-node").nth(5 * s + t).click()
            assert told.inner_text() == equation(word, now, s, t)
        page.locator("[data-control=reset]").click()
        assert total.inner_text() == verdict("cat", CAT)
    assert not reader.complaints


def test_the_arrow_keys_go_from_place_to_place(reader: Reader) -> None:
    page = reader.open(picture().html)
    told = page.locator(".living-status")
    page.locator(".living-drawing").focus()
    moves = [("Left", 5, 3), ("Up", 4, 3), ("Down", 5, 3), ("Right", 5, 4), ("Right", 5, 4)]
    for key, s, t in moves:
        page.keyboard.press(f"Arrow{key}")
        assert told.inner_text() == equation("cat", CAT, s, t)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "got none"),
        ({"at": CAT}, "weights of .*, expected - and its"),
        ({"cat": CAT | {"a": [1]}}, r"weights of \[1, 5\] frames"),
        ({"cat": CAT | {"a": [0, 1, 9, 1, 0]}}, "expected integers, 0 to 4"),
    ],
)
def test_what_does_not_fit_is_refused(words, said) -> None:
    with pytest.raises(ValueError, match=said):
        ctc_lattice(words)


def test_the_pipeline_s_best_path_collapses_to_hello() -> None:
    path = ctc_pipeline.best_path()
    ids = ["-helo".index(symbol) for symbol in path]
    assert "".join("-helo"[k] for k in collapse(ids)) == "hello"
    for column in zip(*ctc_pipeline.PROBABILITIES.values(), strict=True):
        assert sum(column) == 5
        assert column.count(max(column)) == 1
    drawn = re.findall(r">([^<>]+)</text>", ctc_pipeline.ctc_pipeline())[-20:]
    assert drawn[:8] == path
    assert [*drawn[8:]] == ["-", *"hhee", "l", "l", "-", "l", "l", *"oo"]  # merged, then the text

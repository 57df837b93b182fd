"""Span corruption: against a reading token by token, and back to the text."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from deepdive.training.objectives import corrupt_spans, hidden_counts, mask_spans, restore_spans


def brute(tokens: list[int], hidden: list[bool], sentinel: int) -> tuple[list[int], list[int]]:
    """One token after the other, as the paper says it."""
    read: list[int] = []
    written: list[int] = []
    before = False
    for token, is_hidden in zip(tokens, hidden, strict=True):
        if is_hidden and not before:
            read.append(sentinel)
            written.append(sentinel)
            sentinel -= 1
        if is_hidden:
            written.append(token)
        else:
            read.append(token)
        before = is_hidden
    return read, [*written, sentinel]


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=20))
def test_against_a_brute_force_reading_and_back(text: list[tuple[int, bool]]) -> None:
    tokens, hidden = [t for t, _ in text], [h for _, h in text]
    if not any(hidden):
        return
    read, written = corrupt_spans(torch.tensor([tokens]), torch.tensor([hidden]), 99)
    assert (read[0].tolist(), written[0].tolist()) == brute(tokens, hidden, 99)
    assert restore_spans(read[0].tolist(), written[0].tolist(), 99) == tokens


@given(st.integers(2, 60), st.floats(0.05, 0.9), st.floats(1.0, 6.0))
def test_drawn_spans_are_as_many_as_said_and_go_back(T: int, rate: float, mean: float) -> None:
    n, spans = hidden_counts(T, rate, mean)
    hidden = mask_spans((3, T), rate, mean, torch.Generator().manual_seed(0))
    assert hidden.sum(1).tolist() == [n] * 3
    assert not hidden[:, 0].any()
    assert hidden[:, -1].all()
    tokens = torch.arange(3 * T).view(3, T)
    read, written = corrupt_spans(tokens, hidden, 999)
    assert read.shape == (3, T - n + spans)
    assert written.shape == (3, n + spans + 1)
    for row, r, w, h in zip(tokens, read, written, hidden, strict=True):
        assert (r.tolist(), w.tolist()) == brute(row.tolist(), h.tolist(), 999)
        assert restore_spans(r.tolist(), w.tolist(), 999) == row.tolist()


def test_the_paper_s_example() -> None:
    """Figure 2: Thank you <X> me to your party <Y> week."""
    words = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week", "."]
    ids = {word: i for i, word in enumerate(words)}
    hidden = torch.tensor([[w in ("for", "inviting", "last") for w in words]])
    read, written = corrupt_spans(torch.tensor([[ids[w] for w in words]]), hidden, 32_099)
    names = {32_099: "<X>", 32_098: "<Y>", 32_097: "<Z>"} | {i: w for w, i in ids.items()}
    assert " ".join(names[i] for i in read[0].tolist()) == (
        "Thank you <X> me to your party <Y> week ."
    )
    assert " ".join(names[i] for i in written[0].tolist()) == "<X> for inviting <Y> last <Z>"


def test_counts_are_those_of_the_paper() -> None:
    """Of 512 tokens 15 per cent in spans of 3; and the ends of the range."""
    assert hidden_counts(512) == (77, 26)
    assert hidden_counts(2) == (1, 1)
    assert hidden_counts(10, rate=0.9, mean=1.0) == (9, 1)  # a known token before each span
    assert hidden_counts(5, rate=0.01) == (1, 1)


def test_all_cuts_are_equally_probable() -> None:
    """5 hidden of 8 tokens in 2 spans: 4 ways to cut the hidden, 2 the known."""
    assert hidden_counts(8, 0.625, 2.5) == (5, 2)
    hidden = mask_spans((8000, 8), 0.625, 2.5, torch.Generator().manual_seed(1))
    seen = Counter(tuple(row) for row in hidden.int().tolist())
    ways = {
        tuple([0] * a + [1] * b + [0] * (3 - a) + [1] * (5 - b))
        for a in (1, 2)
        for b in (1, 2, 3, 4)
    }
    assert set(seen) == ways
    assert max(abs(count - 1000) for count in seen.values()) < 120  # 4 standard deviations


def test_answers_of_a_model_that_are_none() -> None:
    read = [5, 99, 8, 98, 9]
    assert restore_spans(read, [99, 6, 7, 98, 3, 97], 99) == [5, 6, 7, 8, 3, 9]
    assert restore_spans(read, [98, 3, 97, 4], 99) == [5, 8, 3, 9]  # one left out, one too many
    assert restore_spans(read, [], 99) == [5, 8, 9]
    assert restore_spans([5, 98, 8], [98, 3], 99) == [5, 98, 8]  # 98 was not asked for: a token
    for order in combinations([1, 2, 3], 2):
        assert restore_spans(list(order), [], 99) == list(order)


TEXT = torch.tensor([[5, 6, 7, 8], [5, 6, 7, 8]])
ONE = torch.tensor([[False, True, False, False]] * 2)


@pytest.mark.parametrize(
    ("tokens", "hidden", "sentinel", "message"),
    [
        (TEXT.float(), ONE, 99, "tokens: got torch.float32"),
        (TEXT[0], ONE[0], 99, r"\(4,\), expected int64"),
        (TEXT, ONE.int(), 99, "hidden: got torch.int32"),
        (TEXT, ONE[:1], 99, r"\(1, 4\), expected bool \(2, 4\)"),
        (TEXT, ~ONE & False, 99, r"\[\[0, 0\], \[0, 0\]\]"),
        (TEXT, ONE ^ torch.tensor([[False] * 4, [False] * 3 + [True]]), 99, r"\[2, 2\]"),
        (TEXT, ONE, 8, "sentinels, 7 to 8"),
        (TEXT, ONE, 9, "sentinels, 8 to 9"),
    ],
)
def test_what_does_not_fit(tokens: Tensor, hidden: Tensor, sentinel: int, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        corrupt_spans(tokens, hidden, sentinel)


@pytest.mark.parametrize(("length", "rate", "mean"), [(1, 0.15, 3.0), (9, 0.0, 3.0), (9, 0.5, 0.5)])
def test_numbers_out_of_range(length: int, rate: float, mean: float) -> None:
    with pytest.raises(ValueError, match="length, rate, mean: got"):
        hidden_counts(length, rate, mean)

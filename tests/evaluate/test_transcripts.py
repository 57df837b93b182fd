"""Word and character error rates: as jiwer counts them, and as the definition says."""

from __future__ import annotations

import functools

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepdive.evaluate.transcripts import (
    Change,
    align_all,
    alignment,
    character_error_rate,
    confusions,
    rate_interval,
    word_error_rate,
)

WORDS = st.lists(st.sampled_from(["a", "b", "ab", "c"]), max_size=7)
PAIRS = st.lists(st.tuples(WORDS.filter(bool), WORDS), min_size=1, max_size=5)


def fewest(said: tuple[str, ...], written: tuple[str, ...]) -> int:
    """The edit distance by its definition: every way."""

    @functools.cache
    def from_here(i: int, j: int) -> int:
        if i == len(said) or j == len(written):
            return len(said) - i + len(written) - j
        both = from_here(i + 1, j + 1) + (said[i] != written[j])
        return min(both, from_here(i + 1, j) + 1, from_here(i, j + 1) + 1)

    return from_here(0, 0)


@given(WORDS, WORDS)
@settings(max_examples=200, deadline=None)
def test_an_alignment_is_of_both_texts_and_has_the_fewest_errors(
    said: list[str], written: list[str]
) -> None:
    found = alignment(said, written)
    assert [c.said for c in found.changes if c.said is not None] == said
    assert [c.written for c in found.changes if c.written is not None] == written
    assert found.errors == fewest(tuple(said), tuple(written))
    assert found.errors == found.substitutions + found.deletions + found.insertions
    assert found.length == len(said) == found.hits + found.substitutions + found.deletions
    assert alignment(written, said).errors == found.errors


@given(PAIRS)
@settings(max_examples=150, deadline=None)
def test_the_rates_are_those_of_jiwer(pairs: list[tuple[list[str], list[str]]]) -> None:
    said, written = ([" ".join(each) for each in side] for side in zip(*pairs, strict=True))
    assert word_error_rate(said, written) == pytest.approx(jiwer.wer(said, written), abs=1e-12)
    assert character_error_rate(said, written) == pytest.approx(jiwer.cer(said, written), abs=1e-12)


def test_by_hand() -> None:
    found = alignment("SEVEN FOUR TWO", "SEVEN FORE TO TWO")
    assert found.changes == (
        Change("SEVEN", "SEVEN"), Change("FOUR", "FORE"), Change(None, "TO"), Change("TWO", "TWO")
    ) or found.changes == (
        Change("SEVEN", "SEVEN"), Change(None, "FORE"), Change("FOUR", "TO"), Change("TWO", "TWO")
    )  # fmt: skip
    assert (found.substitutions, found.insertions, found.deletions, found.hits) == (1, 1, 0, 2)
    assert word_error_rate(["SEVEN FOUR TWO"], ["SEVEN FORE TO TWO"]) == pytest.approx(2 / 3)
    assert str(alignment("A B", "A")).splitlines() == ["A B", "A *", "  D"]
    assert word_error_rate(["ONE"], ["A B C"]) == 3.0  # above one
    assert word_error_rate(["ONE TWO"], [""]) == 1.0


def test_a_rate_is_of_all_texts_together_and_not_the_mean_of_rates() -> None:
    assert word_error_rate(["A", "B C D"], ["X", "B C D"]) == 0.25


def test_what_has_no_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="1 and 2 texts, expected equal counts"):
        word_error_rate(["A"], ["A", "B"])
    with pytest.raises(ValueError, match="references: got no tokens"):
        word_error_rate(["", " "], ["A", "B"])
    with pytest.raises(ValueError, match="references: got no tokens"):
        character_error_rate([], [])


def test_confusions_name_what_was_taken_for_what() -> None:
    found = align_all(["FIVE NINE", "NINE ONE", "NINE"], ["FIVE FIVE", "FIVE ONE", ""])
    assert confusions(found) == [(Change("NINE", "FIVE"), 2), (Change("NINE", None), 1)]
    assert confusions(found, 1) == [(Change("NINE", "FIVE"), 2)]


def test_an_interval_by_speaker_is_wider_where_speakers_differ() -> None:
    said = ["A"] * 40
    written = ["A"] * 20 + ["B"] * 10 + ["A"] * 10  # the third of four speakers is all wrong
    found = align_all(said, written)
    groups = [str(i // 10) for i in range(40)]
    by_speaker, alone = rate_interval(found, groups), rate_interval(found)
    assert by_speaker.value == alone.value == 0.25
    assert by_speaker.high - by_speaker.low > 1.5 * (alone.high - alone.low)
    assert by_speaker.low <= 0.25 <= by_speaker.high
    with pytest.raises(ValueError, match="1 for 40 texts, expected 2 or more"):
        rate_interval(found, ["x"] * 40)


def test_the_interval_of_a_difference_is_of_the_same_speakers() -> None:
    """Two recognisers that fail on the same speaker: their rates are unsure, their difference is
    not. Of one that is right where the other is wrong, the difference is the rate itself.
    """
    said, groups = ["A"] * 40, [str(i // 10) for i in range(40)]
    first = align_all(said, ["A"] * 20 + ["B"] * 10 + ["A"] * 10)
    right = align_all(said, said)
    assert rate_interval(first, groups, less=first) == (0.0, 0.0, 0.0)
    assert rate_interval(first, groups, less=right) == rate_interval(first, groups)
    assert rate_interval(right, groups, less=first).value == -0.25
    with pytest.raises(ValueError, match="less: got other utterances"):
        rate_interval(first, groups, less=right[1:])

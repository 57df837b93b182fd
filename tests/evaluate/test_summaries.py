"""ROUGE by hand, by brute force, and as the package rouge_score says it (kept, not installed)."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path

import pytest

from deepdive.evaluate.summaries import longest_common, rouge, rouge_l, rouge_n, words

REFERENCE = json.loads((Path(__file__).parent / "rouge_reference.json").read_text("utf-8"))


@pytest.mark.parametrize("row", REFERENCE["rows"], ids=lambda row: row[0][:20])
def test_as_the_reference_says(row: list) -> None:
    summary, reference, wanted = row
    mine, theirs = words(summary), words(reference)
    found = {
        "rouge1": rouge_n(mine, theirs, 1),
        "rouge2": rouge_n(mine, theirs, 2),
        "rougeL": rouge_l(mine, theirs),
    }
    for name, one in found.items():
        assert [one.precision, one.recall, one.f1] == pytest.approx(wanted[name], abs=1e-12)
        assert rouge(summary, reference)[name] == pytest.approx(wanted[name][2], abs=1e-12)


def test_lin_s_example() -> None:
    """Lin 2004, section 3.1: the same pairs of words, and only one of the two keeps their order."""
    police = ["police", "killed", "the", "gunman"]
    kept, turned = ["police", "kill", "the", "gunman"], ["the", "gunman", "kill", "police"]
    assert rouge_n(kept, police, 2) == rouge_n(turned, police, 2)
    assert rouge_l(kept, police).f1 == 3 / 4
    assert rouge_l(turned, police).f1 == 2 / 4


def test_the_longest_common_subsequence_by_brute_force() -> None:
    draws = random.Random(0)

    def of(text: list[int]) -> set[tuple[int, ...]]:
        return {way for n in range(len(text) + 1) for way in combinations(text, n)}

    for _ in range(200):
        a, b = ([draws.randrange(4) for _ in range(draws.randrange(8))] for _ in range(2))
        assert longest_common(a, b) == max(map(len, of(a) & of(b)))


def test_runs_that_stand_often_count_as_often_as_both_have_them() -> None:
    found = rouge_n(["a", "a", "a", "b"], ["a", "a", "c"], 1)
    assert (found.precision, found.recall) == (2 / 4, 2 / 3)
    with pytest.raises(ValueError, match="n: got 0"):
        rouge_n(["a"], ["a"], 0)

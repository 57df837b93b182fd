"""Texts with what they say in short."""

from __future__ import annotations

from collections import Counter

import pytest

from deepdive.data.errors import DataError
from deepdive.data.subjects import arxiv_abstracts
from deepdive_book.data.medical import DIALOGUE_PARTS, dialogues, notes
from deepdive_book.data.summaries import arxiv_titles, generated_notes, generated_summaries


@pytest.mark.data("arxiv_abstracts")
def test_titles_of_abstracts() -> None:
    found = arxiv_titles()
    assert (len(found), len({row.text for row in found})) == (1979, 1977)
    assert Counter(found) == Counter(arxiv_titles(seed=None))
    assert {row.text for row in found} <= set(arxiv_abstracts().texts)
    assert arxiv_titles(seed=None)[0].summary.startswith("Calculation of prompt diphoton")


def test_generated_summaries_begin_their_text() -> None:
    found = generated_summaries(5)
    assert len(found) == 5
    assert all(row.text.startswith(row.summary) for row in found)
    assert found.source == "generated_summaries(5, seed=0)"


def test_generated_notes_say_what_the_talk_says() -> None:
    found = generated_notes(40)
    assert found == generated_notes(40)
    assert found.source == "generated_notes(40, seed=0)"
    for row in found:
        lines, note = row.text.split("\n"), row.summary
        assert len(lines) == 8
        side, part = lines[1].split()[2:4]
        assert f"{side} {part} has hurt for {lines[3].split()[2]} weeks" in note
        assert note.startswith(f"The patient is a {lines[7].split()[-1][:-1]} year old")
        assert ("denies" in note) == lines[5].startswith("Patient: No")


@pytest.mark.data("mts_dialog")
def test_notes_of_talks() -> None:
    sizes = [len(notes([part])) for part in DIALOGUE_PARTS]
    assert sizes == [1201, 100, 200, 200]
    first = notes()[0]
    assert first.summary.startswith("The patient is a 76-year-old white female")
    lines = first.text.split("\n")
    assert lines[0] == "Doctor: What brings you back into the clinic today, miss?"
    assert tuple(" ".join(row.text.split()) for row in notes()) == dialogues(["train"]).texts
    with pytest.raises(DataError, match="parts: got"):
        notes(["dev"])

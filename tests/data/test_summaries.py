"""Texts with what they say in short."""

from __future__ import annotations

from collections import Counter

import pytest

from deepdive.data.subjects import arxiv_abstracts
from deepdive.data.summaries import arxiv_titles, generated_summaries


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

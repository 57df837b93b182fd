"""Arcs over a sentence: what is drawn, and what is refused."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from deepdive_book.kit.diagrams.trees import arcs

WORDS = ["the", "old", "king", "sleeps"]


def parts(drawn: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}" + tag))


def test_each_pair_is_an_arc_and_a_wrong_guess_is_dashed() -> None:
    drawn = arcs(WORDS, [(0, 2), (1, 2)], [(0, 2), (1, 3)], names=["det"])
    assert len(parts(drawn, "path")) == len(parts(drawn, "polygon")) == 4
    dashed = [path for path in parts(drawn, "path") if "stroke-dasharray" in path.attrib]
    assert len(dashed) == 1
    assert [word.text for word in parts(drawn, "text")] == [*WORDS, "det"]


def test_an_arc_ends_at_its_head_and_nothing_leaves_the_picture() -> None:
    drawn = arcs(WORDS, [(3, 0)], [(0, 3)])
    tall = float(ElementTree.fromstring(drawn).attrib["viewBox"].split()[3])
    places = [float(word.attrib["x"]) for word in parts(drawn, "text")]
    tips = [p.attrib["points"].split()[0].split(",") for p in parts(drawn, "polygon")]
    for tip, head in zip(tips, (0, 3), strict=True):
        assert abs(float(tip[0]) - places[head]) < 6
    for path in parts(drawn, "path"):
        start, bend = float(path.attrib["d"].split()[2]), float(path.attrib["d"].split()[5])
        assert 0 < start + (bend - start) * 3 / 4 < tall


@pytest.mark.parametrize("pair", [(0, 4), (-1, 2), (1, 1)])
def test_pairs_that_are_not_two_words_are_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="is not two of 4 words"):
        arcs(WORDS, [pair])

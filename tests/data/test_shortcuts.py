"""Planted shortcuts: the class stays where it was, and the sign goes with it as often as asked."""

from __future__ import annotations

import pytest

from deepdive.data.errors import DataError
from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.data.shortcuts import KINDS, PAPERS, SIDES, flip_labels, with_shortcut
from deepdive_book.data.synthetic_reviews import GOOD


def side(kind: str, words: list[str]) -> int:
    if kind == "paper":
        return PAPERS.index(words[0])
    if kind == "others":
        return int(bool({*words} & {*SIDES[1]}))
    return int(words[0] == "i")


@pytest.mark.parametrize("kind", KINDS)
def test_the_rule_gives_the_class_and_the_shortcut_the_share(kind: str) -> None:
    made = with_shortcut(kind, 800, share=0.9, seed=4)
    assert len(set(made.texts)) == len(made) == 800
    for text, label, deciding, writer, sign, held in zip(
        made.texts, made.labels, made.deciding, made.writer, made.sign, made.held, strict=True
    ):
        words = text.split()
        assert words[writer] == "i"
        told = [words[i] for i in deciding if words[i] != "not"]
        denied = any(words[i] == "not" for i in deciding)
        assert {(w in GOOD) != denied for w in told} == {bool(label)}
        assert (side(kind, words) == label) == held
        assert [words[i] in (*PAPERS, *SIDES[0], *SIDES[1]) for i in sign] == [True] * len(sign)
        assert len(sign) == (kind != "first")
    assert 0.86 < sum(made.held) / 800 < 0.94


def test_without_the_sign_they_are_the_verdicts() -> None:
    made, base = with_shortcut("paper", 300, seed=2), generated_verdicts(620, 2)
    assert [text.split(" : ")[1] for text in made.texts] == list(base.texts[:300])
    assert made.labels == base.labels[:300]
    assert [tuple(i - 2 for i in places) for places in made.deciding] == list(base.deciding[:300])


@pytest.mark.parametrize(("share", "held"), [(1.0, {True}), (0.0, {False})])
def test_it_holds_always_or_never(share: float, held: set[bool]) -> None:
    assert set(with_shortcut("others", 100, share=share).held) == held


def test_what_cannot_be_planted_is_refused() -> None:
    with pytest.raises(DataError, match="kind='weather'"):
        with_shortcut("weather", 10)
    with pytest.raises(DataError, match=r"share=1\.5"):
        with_shortcut("paper", 10, share=1.5)


@pytest.mark.parametrize("kind", KINDS)
def test_turned_round_is_the_same_review_with_the_other_sign(kind: str) -> None:
    made = with_shortcut(kind, 200, seed=6)
    for text in made.texts:
        other = flip_labels(kind, text)
        assert side(kind, other.split()) != side(kind, text.split())
        assert flip_labels(kind, other) == text
        clauses = [{*each.split(" , ")} for each in (text[:-2], other[:-2])]
        assert kind != "first" or clauses[0] == clauses[1]

"""Chapter 6a's clinic: each patient shows its symptom, a healthy one does not, a proof proves."""

from __future__ import annotations

from typing import Any

import torch
from wards import Wards

from deepdive_book.course.clinic import text
from deepdive_book.course.clinic.text import BROKEN, HEALTHY, admit, healthy, operate, unproven
from deepdive_book.course.specimens.text import LETTERS, WORDS, texts


def apart(look: Any) -> torch.Tensor:
    """How far scores are from those of the same texts, read letter by letter."""
    some = texts(8)
    far: torch.Tensor = (look(some)["logits"] - look(some, by_letter=True)["logits"]).abs().mean()
    return far


class TestWards(Wards):
    clinic, chapter = text, "06a_text"

    def idle(self, look: Any) -> Any:
        return look(texts(4).only(0))["counted"].sum()


def test_texts_are_the_same_each_time_and_filled_up_behind() -> None:
    many, again, cut = texts(9), texts(9), texts(9, whole=False)
    assert torch.equal(many.tokens, again.tokens)
    assert {word for said in many.said for word in said[:-1].split()} <= {*WORDS}
    assert {*"".join(many.said)} <= {*LETTERS[2:]}
    assert not any(said.endswith(".") for said in cut.said)
    assert torch.equal(many.real, many.tokens != 0)
    assert (many.real[:, 1:] <= many.real[:, :-1]).all()
    alone = many.only(2)
    assert alone.tokens.shape == (1, 1 + len(many.said[2]))


def test_broken_parts_are_not_the_healthy_ones() -> None:
    real = texts(5).real
    given: dict[str, tuple[Any, ...]] = {
        "count": (real,), "heat": (torch.randn(2, 5), 2.0), "cache": (3, 2), "last": (real,),
    }  # fmt: skip
    for name, values in given.items():
        right, wrong = HEALTHY[name](*values), BROKEN[name](*values)
        assert right.shape == wrong.shape
        assert not torch.equal(right, wrong), name
    assert torch.equal(HEALTHY["heat"](torch.eye(2), 1.0), BROKEN["heat"](torch.eye(2), 1.0))


def test_a_healthy_decoder_writes_words_and_needs_no_batch() -> None:
    assert healthy().shares["words"] > 85
    assert healthy().shares["words at 0.5"] > 95
    assert healthy().shares["in a batch"] == 100
    assert operate("last", HEALTHY["last"]).shares == healthy().shares


def test_a_has_a_low_loss_and_is_no_better() -> None:
    assert admit("A").curve[-1] < healthy().curve[-1] - 0.2
    assert admit("A").shares["letters"] < healthy().shares["letters"] + 3


def test_b_writes_worse_where_it_is_cold() -> None:
    assert admit("B").curve == healthy().curve
    assert admit("B").shares["words"] == healthy().shares["words"]
    assert admit("B").shares["words at 0.5"] < 80


def test_c_reads_well_and_cannot_write() -> None:
    assert admit("C").shares["letters"] == healthy().shares["letters"]
    assert admit("C").shares["words"] < 50
    assert apart(healthy().look) < 1e-5 < 0.1 < apart(admit("C").look)


def test_d_answers_well_alone() -> None:
    assert admit("D").shares["words"] == healthy().shares["words"]
    assert admit("D").shares["in a batch"] < 40
    new = texts(4, whole=False)
    for i in range(4):
        same = [each.look(new.only(i))["answer"] for each in (healthy(), admit("D"))]
        assert torch.equal(*same)


def test_a_proof_of_one_illness_proves_no_other() -> None:
    assert not unproven(apart, "C")
    assert [bool(unproven(apart, letter)) for letter in "ABD"] == [True] * 3


def test_a_chart_says_what_it_shows() -> None:
    alt = admit("B").chart().alt  # type: ignore[attr-defined]
    assert f"words at 0.5 {healthy().shares['words at 0.5']:.0f} % and" in alt


def test_what_is_written_is_the_same_each_time() -> None:
    assert healthy().write(3) == healthy().write(3)

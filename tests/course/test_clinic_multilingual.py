"""Chapter 4's clinic: each patient shows its symptom, a healthy one does not, a proof proves."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
import torch
from checkout import ROOT
from torch.nn.functional import normalize
from wards import Wards

from deepdive.data import mixture
from deepdive.training.objectives import additive_margin, join_translations
from deepdive_book.course.assignment.variants import personal
from deepdive_book.course.clinic import multilingual
from deepdive_book.course.clinic.multilingual import (
    ALPHA,
    BROKEN,
    HEALTHY,
    MASK,
    PAD,
    SIZES,
    admit,
    gaps_of,
    healthy,
    ill,
    operate,
    unproven,
)
from deepdive_book.course.exercises import is_check, parts, source, tags
from deepdive_book.course.specimens.multilingual import WORDS, pairs

PATH = ROOT / "chapters" / "04_multilingual" / "clinic.py"
LINES = [("one two three four", "eins zwei drei vier"), ("one two", "moja mbili")]


def off_the_diagonal(look: Any) -> torch.Tensor:
    """What is added to the cosine of each line and its own translation."""
    seen = look(pairs(16))
    u, v = normalize(seen["centred"], dim=-1)
    found: torch.Tensor = (seen["scores"] / 20 - u @ v.T).diag().mean()
    return found


class TestWards(Wards):
    clinic, chapter = multilingual, "04_multilingual"

    def idle(self, look: Any) -> Any:
        return look(pairs(4))["gaps"].sum()


def test_pairs_are_the_same_each_time_and_say_the_same_digits() -> None:
    assert pairs(9) == pairs(9)
    assert [a for a, _ in pairs(9)] == [a for a, _ in pairs(9, "Swahili")]
    for language, start in (("German", 10), ("Swahili", 20)):
        for english, other in pairs(9, language):
            digits = [WORDS.index(word) for word in english.split()]
            assert 4 <= len(digits) <= 6
            assert [WORDS.index(word) - start for word in other.split()] == digits


def test_a_line_of_a_pair_keeps_a_word() -> None:
    some, gaps = pairs(50), gaps_of(pairs(50))
    for (english, other), row in zip(some, gaps, strict=True):
        n, m = len(english.split()), len(other.split())
        assert not row[:n].all()
        assert not row[n : n + m].all()
        assert not row[n + m :].any()
    assert 0.2 < gaps.sum() / sum(len((a + " " + b).split()) for a, b in some) < 0.33


def test_healthy_parts_say_what_the_library_says() -> None:
    net = healthy().model
    rows = net.joined(LINES, gaps_of(LINES))
    ids = [[[WORDS.index(word) for word in line.split()] for line in pair] for pair in LINES]
    theirs = join_translations([a for a, _ in ids], [b for _, b in ids], (0, [1, 2]), PAD)
    assert torch.equal(rows.tokens, theirs.tokens)
    assert torch.equal(rows.places, theirs.positions)
    assert torch.equal(rows.second, theirs.second)
    assert torch.equal(rows.languages[rows.real], theirs.languages[rows.real])
    assert ((rows.shown == MASK) == rows.gaps).all()
    sizes = torch.tensor([float(n) for n in SIZES.values()])
    wanted = [*mixture.shares(SIZES, ALPHA).values()]
    torch.testing.assert_close(HEALTHY["drawn"](sizes, ALPHA), torch.tensor(wanted))
    u, v = torch.randn(2, 5, 8)
    scores = 20 * (normalize(u, dim=-1) @ normalize(v, dim=-1).T - HEALTHY["margin"](5, 0.3))
    torch.testing.assert_close(
        torch.nn.functional.cross_entropy(scores, torch.arange(5)), additive_margin(u, v)
    )


def test_broken_parts_are_not_the_healthy_ones() -> None:
    draw, gap = torch.rand(3, 3), torch.tensor([[False, True, True]])
    given: dict[str, tuple[Any, ...]] = {
        "margin": (4, 0.3), "leak": (torch.tensor([[1, 2, 3]]), gap, gap.roll(1), MASK),
        "places": (3, 2), "language": (3, 2, 0, 1), "drawn": (torch.tensor([9.0, 1]), 0.3),
        "means": (draw, torch.tensor([0, 1, 1]), draw[:2] + 1),
    }  # fmt: skip
    for name, values in given.items():
        right, wrong = HEALTHY[name](*values), BROKEN[name](*values)
        assert right.shape == wrong.shape
        assert not torch.equal(right, wrong), name


def test_a_healthy_one_does_all_six() -> None:
    assert healthy().shares["gaps"] > 65  # a third of the words that would tell are hidden too
    assert healthy().shares["by 0.3"] > 50
    for name in ("written", "found", "Swahili", "one heap"):
        assert healthy().shares[name] > 95
    assert operate("means", HEALTHY["means"]).shares == healthy().shares


def test_a_has_a_low_loss_and_hardly_a_lead() -> None:
    assert admit("A").curve[-1] < healthy().curve[-1] - 1
    assert admit("A").shares["by 0.3"] < 10
    assert abs(admit("A").shares["gaps"] - healthy().shares["gaps"]) < 8
    assert admit("A").shares["one heap"] < 60


def test_b_has_a_low_loss_and_cannot_write() -> None:
    assert admit("B").curve[-1] < healthy().curve[-1] - 0.3
    assert admit("B").shares["gaps"] > healthy().shares["gaps"] + 8
    assert admit("B").shares["written"] < 25


def test_c_answers_in_the_right_language_and_d_in_the_other() -> None:
    for letter, in_language in (("C", 1.0), ("D", 0.0)):
        assert admit(letter).curve == healthy().curve
        assert admit(letter).shares["gaps"] < 40
        assert admit(letter).shares["one heap"] == healthy().shares["one heap"]
        seen = admit(letter).look(pairs(64))
        said, asked = (seen[key][seen["gaps"]] // 10 for key in ("said", "tokens"))
        assert abs(float((said == asked).float().mean()) - in_language) < 0.05


def test_e_reads_no_swahili() -> None:
    assert admit("E").shares["Swahili"] < 10
    assert admit("E").shares["found"] > 95
    assert admit("E").curve[-1] < healthy().curve[-1]


def test_f_has_a_corner_for_each_language() -> None:
    assert admit("F").shares["one heap"] < 5
    assert admit("F").shares["found"] > 80
    assert admit("F").shares["written"] == healthy().shares["written"]


def test_a_proof_of_one_illness_proves_no_other() -> None:
    assert not unproven(off_the_diagonal, "A")
    assert all(unproven(off_the_diagonal, letter) for letter in "BCDEF")


def test_a_line_can_be_read_alone_and_without_gaps() -> None:
    alone = healthy().look([("one two", "")], hide=False)
    beside = healthy().look([("one two", "eins zwei")], hide=False)
    assert alone["shown"] == ["one two"]
    assert beside["shown"] == ["one two | eins zwei"]
    assert not beside["gaps"].any()
    torch.testing.assert_close(alone["rows"], beside["rows"][:, :2])
    torch.testing.assert_close(alone["vectors"][0], beside["vectors"][0])


@pytest.mark.parametrize(
    ("pair", "why"), [(("", "eins"), "has no word"), (("one ten", "eins"), "nobody knows ten")]
)
def test_a_pair_that_it_cannot_read_is_refused(pair: tuple[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        healthy().look([pair])


def test_a_chart_says_what_it_shows() -> None:
    alt = admit("F").chart().alt  # type: ignore[attr-defined]
    assert f"one heap {healthy().shares['one heap']:.0f} % and 0 %" in alt


# -- each student's own


@cache
def theatres(student: str) -> list[Any]:
    form = personal(source(PATH, ROOT), b"a secret that no student has seen", student)
    return parts(form)[7:]


STUDENTS = [f"student-{number:02d}" for number in range(20)]


def names_to_begin() -> dict[str, Any]:
    """What theatres use; operations are not made, and all heal."""
    return {
        "torch": torch, "admit": admit, "healthy": healthy, "ill": ill,
        "operate": lambda name, part: healthy(),
    }  # fmt: skip


def failed(cell: Any, names: dict[str, Any]) -> str:
    try:
        exec(compile(cell.source, cell.id, "exec"), names)
    except AssertionError as error:
        return str(error)
    return ""


def test_students_have_names_numbers_and_bugs_of_their_own() -> None:
    for place in range(6):
        texts = {"\n".join(c.source for c in theatres(student)[place].cells)
                 for student in STUDENTS}  # fmt: skip
        assert len(texts) >= 8, place


@pytest.mark.parametrize("student", STUDENTS)
def test_a_student_s_own_theatre_is_solved_by_the_solution_and_by_no_other(student: str) -> None:
    for part in theatres(student):
        names = names_to_begin()
        for cell in part.cells:
            if cell.cell_type == "code" and "wrong-answer" not in tags(cell):
                assert not failed(cell, names), cell.source
        (solution,), (check,) = part.solutions, part.checks
        (name,) = re.findall(r"^def (\w+)", solution.source, re.M)
        (bug,) = re.findall(r"^def (found_\w+)", "\n".join(c.source for c in part.cells), re.M)
        for wrong in part.tagged("wrong-answer"):
            assert failed(check, names | {name: _last(wrong.source, names)}), wrong.source
        assert failed(check, names | {name: names[bug]}), part.title


def _last(text: str, names: dict[str, Any]) -> Any:
    inside = dict(names)
    exec(text, inside)
    return inside[re.findall(r"^def (\w+)", text, re.M)[-1]]


def test_each_planted_bug_is_given_out_and_caught_by_the_message_it_names() -> None:
    told = source(PATH, ROOT)
    bugs = [cell for cell in told.cells if "bug" in tags(cell)]
    assert len(bugs) == 18
    given = {c.source for s in STUDENTS for p in theatres(s) for c in p.cells if "bug" in tags(c)}
    assert given == {cell.source for cell in bugs}
    for part in theatres("student-00"):
        names = names_to_begin()
        for cell in part.cells:
            if cell.cell_type == "code" and not is_check(cell) and "wrong-answer" not in tags(cell):
                assert not failed(cell, names)
        (solution,), (check,) = part.solutions, part.checks
        (name,) = re.findall(r"^def (\w+)", solution.source, re.M)
        for bug in bugs:
            if bug.metadata["exercise"] == solution.id:
                said = failed(check, names | {name: _last(bug.source, names)})
                assert bug.metadata["caught"] in said, (bug.metadata["bug"], said)

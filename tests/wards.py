"""What holds in every clinic, whatever its patients ail: the base of a class of tests for each."""

from __future__ import annotations

import re
from typing import Any

import pytest
from checkout import ROOT

from deepdive_book.course.exercises import parts, source


class Wards:
    """Tests of the clinic `clinic`, a module, whose notebook stands in the folder `chapter`."""

    clinic: Any
    chapter: str

    def test_only_the_right_diagnosis_heals(self) -> None:
        misjudged = self.clinic.misjudged
        for letter, ill in self.clinic.PATIENTS.items():
            heals = [name for name in self.clinic.DIAGNOSES if not misjudged(letter, name)]
            assert heals == [ill]
            assert "no diagnosis" in misjudged(letter, "flu")

    def idle(self, look: Any) -> Any:
        """A number in which patients do not stand apart, such as the loss, which all see."""
        raise NotImplementedError

    def test_what_all_see_proves_nothing(self) -> None:
        for letter in self.clinic.PATIENTS:
            assert "healthy models give" in self.clinic.unproven(self.idle, letter)
            assert "never calls look" in self.clinic.unproven(lambda look: 1.0, letter)

    def test_the_notebook_lists_the_diagnoses_and_has_a_ward_and_a_theatre_for_each(self) -> None:
        path, diagnoses = ROOT / "chapters" / self.chapter / "clinic.py", self.clinic.DIAGNOSES
        rows = re.findall(r"^# \| `(\w+)` \| (.+?) \|$", path.read_text("utf-8"), re.M)
        assert {name: words for name, words in rows[::-1] if name in diagnoses} == diagnoses
        letters, (_, *exercises) = [*self.clinic.PATIENTS], parts(source(path, ROOT))
        assert [part.number for part in exercises] == list(range(1, 2 * len(letters) + 1))
        wards, theatres = exercises[: len(letters)], exercises[len(letters) :]
        assert [part.title[:9] for part in wards] == [f"Patient {x}" for x in letters]
        assert all(part.title.startswith("Theatre: ") for part in theatres)
        mended = {cell.id.removeprefix("mend-") for part in theatres for cell in part.solutions}
        assert mended == {*diagnoses}
        for part in exercises:
            assert sum(cell.metadata["nbgrader"]["points"] for cell in part.checks) == 3
            assert part.tagged("hint")

    def test_nobody_else_is_admitted(self) -> None:
        letters = [*self.clinic.PATIENTS]
        with pytest.raises(ValueError, match=f"expected one of {' '.join(letters)}$"):
            self.clinic.admit(chr(ord(letters[-1]) + 1))

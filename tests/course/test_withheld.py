"""What grading keeps from a student's code: the clinics' answers. And whose code counts."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT

from deepdive_book.course import twins
from deepdive_book.course.assignment import library, reader
from deepdive_book.course.assignment.course import Course, create
from deepdive_book.course.assignment.forms import released, solved
from deepdive_book.course.assignment.grading import grade
from deepdive_book.course.assignment.plan import grade_id
from deepdive_book.course.assignment.variants import personal, standard
from deepdive_book.course.clinic import encoder
from deepdive_book.course.clinic.base import Clinic
from deepdive_book.course.exercises import source
from deepdive_book.site.pages import exercise_sources

SOURCE = """\
# %% [markdown]
# ## 1. One
#
# *Write · 5 min · easy · book 1*

# %% nbgrader={"grade_id": "one", "solution": true}
def one():
    ### BEGIN SOLUTION
    return 1
    ### END SOLUTION


# %% nbgrader={"grade_id": "one-check", "grade": true, "points": 2}
from deepdive.models.multilingual.ernie_m import cross_lingual_mask

assert one() == 1, "it must be 1"
"""
TABLES = {"PATIENTS", "HEALTHY", "BROKEN", "WARD"}
CLINICS = [path for path in exercise_sources(ROOT) if path.stem == "clinic"]


@pytest.fixture
def full(tmp_path: Path) -> Any:
    path = tmp_path / "chapters" / "01_demo" / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    return source(path, tmp_path)


def handed(full: Any, **answers: str) -> Any:
    """The released form with these texts in the cells of these ids, and all others as they are."""
    form = released(full)
    for cell in form.cells:
        if (name := grade_id(cell).replace("-", "_")) in answers:
            cell.source = answers[name]
    return form


def read(tmp_path: Path, full: Any, form: Any) -> Any:
    """What the reader finds in a submission."""
    path = tmp_path / "handed.ipynb"
    path.write_text(json.dumps(form))
    return reader.read(path, released(full), library.compared(full))


def seen(full: Any, expression: str) -> Any:
    """What an expression is inside the sandbox."""
    text = f"import os, pkgutil, deepdive\nraise ValueError(repr({expression}))\n"
    said = grade(full, handed(full, one=text)).cells[0].message
    assert "ValueError: " in said, said
    return eval(said[said.index("ValueError: ") + 12 : said.rindex(" (line")])


def test_no_module_that_a_student_s_code_can_import_has_the_answers(full: Any) -> None:
    library_folder = str(Path(twins.__file__).parents[2])
    course = f"{library_folder}/deepdive_book/course"
    found = f"[sorted(os.listdir({course!r} + end)) for end in ('/specimens', '/clinic')]"
    specimens, clinic = seen(full, found)
    assert "encoder.py" in specimens
    assert clinic == []
    every = Path(library_folder).glob("deepdive*/**/*.py")
    names = [path.relative_to(library_folder).with_suffix("").parts for path in every]
    shown = {".".join(n).removesuffix(".__init__") for n in names if n[-1] != "__main__"}
    for name in sorted(n for n in shown if not n.startswith("deepdive_book.course.clinic")):
        module = importlib.import_module(name)
        assert not TABLES & {key for key in vars(module) if key.isupper()}, name
        homes = {str(getattr(value, "__module__", "")) for value in vars(module).values()}
        assert not [home for home in homes if home.startswith("deepdive_book.course.clinic")], name


def test_a_clinic_s_answers_that_are_imported_earn_nothing(tmp_path: Path) -> None:
    full = standard(source(ROOT / "chapters" / "03_bert" / "clinic.py", ROOT))
    trains = [cell for cell in full.cells if re.match(r"seen = |told\(", cell.source)]
    full.cells = [cell for cell in full.cells if cell not in trains]
    taken = "from deepdive_book.course.clinic import encoder\n"
    form = handed(
        full,
        a_diagnosis=f"{taken}def diagnosis_a():\n    return encoder.PATIENTS['A']",
        mend_padding=f"{taken}visible = encoder.HEALTHY['padding']",
    )
    given = grade(full, form)
    assert given.points == 0
    told = {cell.grade_id: cell.message for cell in given.cells}
    assert "deepdive_book.course.clinic is not there while you are graded" in told["a-named"]
    assert read(tmp_path, full, form).borrowed == ["a-diagnosis", "mend-padding"]


def test_a_fingerprint_fits_no_patient_of_grading(monkeypatch: pytest.MonkeyPatch) -> None:
    class Patient:
        """Its number tells which part is broken, and depends on its seed."""

        curve: list[float] = []  # noqa: RUF012

        def __init__(self, parts: Any, before: Any, *, seed: int = 0, steps: int = 1) -> None:
            self.parts = dict(parts)
            self.number = 10.0 * parts["a"]() + 20 * parts["b"]() + 0.1 * seed + 0.01 * steps

        def look(self) -> float:
            return self.number

    words = {"A": "a", "B": "b"}
    well, ill = dict.fromkeys("ab", lambda: 0), dict.fromkeys("ab", lambda: 1)
    ward = Clinic(Patient, words, dict.fromkeys("ab", ""), well, ill)
    noted = ward.admit("A").look()
    assert not ward.unproven(lambda look: abs(look() - noted) < 1e-9, "A")
    assert not ward.unproven(lambda look: abs(look() - 10) < 5, "A")
    monkeypatch.setattr(twins, "SEED", twins.SEEDS[0])
    said = ward.unproven(lambda look: abs(look() - noted) < 1e-9, "A")
    assert "healthy models give" in said
    assert not ward.unproven(lambda look: abs(look() - 10) < 5, "A"), "a measurement holds"


def test_the_judge_alone_knows_the_seed(full: Any, tmp_path: Path) -> None:
    text = SOURCE.replace(
        "assert one() == 1", "from deepdive_book.course import twins\n\nassert one() == 1"
    )
    text = text.replace('"it must be 1"', 'f"{one()}, {twins.SEED}"')
    path = tmp_path / "chapters" / "01_demo" / "exercises.py"
    path.write_text(text)
    asks = "from deepdive_book.course import twins\ndef one():\n    return 10 * twins.SEED"
    full = source(path, tmp_path)
    assert grade(full, handed(full, one=asks), twin=3).cells[0].message == "0, 3"


def test_a_seed_is_drawn_from_the_secret(tmp_path: Path) -> None:
    course = create(tmp_path / "own", secret=True)
    drawn = {course.twin(f"s{number}") for number in range(40)}
    assert drawn == {*twins.SEEDS}
    assert course.twin("s1") == Course.open(tmp_path / "own").twin("s1")
    assert create(tmp_path / "same").twin("s1") == twins.SEEDS[0] != twins.SEED


@pytest.mark.parametrize("path", CLINICS, ids=[path.parent.name for path in CLINICS])
def test_each_student_has_an_own_order_of_patients(path: Path) -> None:
    full = source(path, ROOT)
    usual = standard(full)
    ids = [grade_id(cell) for cell in usual.cells if grade_id(cell)]
    orders = set()
    for number in range(6):
        form = personal(full, b"a secret that nobody has", f"student-{number}")
        own = [grade_id(cell) for cell in form.cells if grade_id(cell)]
        assert own == ids
        (beds,) = [cell.source for cell in form.cells if cell.source.startswith("BEDS = ")]
        order = eval(beds.removeprefix("BEDS = "))
        orders.add(beds)
        assert {frozenset(order[i : i + 2]) for i in range(0, len(order), 2)} == {
            frozenset(pair) for pair in ("AB", "CD", "EF")[: len(order) // 2]
        }
        titles = [
            [c.source.split("\n")[0][16:] for c in each.cells if c.source.startswith("## ")]
            for each in (usual, form)
        ]
        moved = [titles[0][ord(letter) - ord("A")] for letter in order]
        assert titles[1] == moved + titles[0][len(order) :]
        for cell in solved(form).cells:
            if grade_id(cell).endswith("-diagnosis"):
                letter = grade_id(cell)[0]
                assert f"def diagnosis_{letter}()" in cell.source
                assert f"def measure_{letter}(look)" in cell.source
            if grade_id(cell).endswith("-named"):
                letter = grade_id(cell)[0]
                assert f'misjudged("{letter.upper()}", diagnosis_{letter}())' in cell.source
    assert len(orders) > 1


def test_a_ward_is_opened_in_an_order_that_keeps_neighbors() -> None:
    ward = encoder.WARD
    kept = dict(ward.order)
    try:
        ward.opened(["D", "C", "A", "B"])
        assert not ward.misjudged("A", encoder.PATIENTS["D"])
        assert ward.misjudged("A", encoder.PATIENTS["A"])
        with pytest.raises(ValueError, match="expected the pairs"):
            ward.opened(["A", "C", "B", "D"])
    finally:
        ward.order.clear()
        ward.order.update(kept)


@pytest.mark.parametrize(
    ("answer", "flagged"),
    [
        ("def one():\n    return 1", False),
        (
            "from deepdive.models.multilingual.ernie_m import cross_lingual_mask\n"
            "one = cross_lingual_mask",
            True,
        ),
        (
            "import deepdive.models.multilingual.ernie_m as o\n"
            "def one():\n    return o.cross_lingual_mask()",
            True,
        ),
        (
            "from importlib import import_module\n"
            "o = import_module('deepdive.training.objectives')\n"
            "def one():\n    return getattr(o, 'cross_lingual_mask')()",
            True,
        ),
        ("from deepdive.training.objectives import *\ndef one():\n    return 1", True),
        ("from deepdive.core.masks import Causal\ndef one():\n    return 1", False),
        ("def one():\n    return 'cross_lingual_mask'", False),
        ("def one(:", False),
    ],
)
def test_who_imports_what_the_check_compares_with_is_flagged(
    full: Any, answer: str, flagged: bool
) -> None:
    form = handed(full, one=answer)
    names = library.compared(full)
    assert names == {"one": ["cross_lingual_mask"]}
    assert library.borrowed(names, released(full), form) == ["one"] * flagged
    form = handed(full)
    form.cells.insert(0, {"cell_type": "code", "source": answer, "metadata": {}})
    assert library.borrowed(names, released(full), form) == ["one"] * flagged


@pytest.mark.parametrize("path", exercise_sources(ROOT), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_no_solution_of_ours_is_flagged(path: Path) -> None:
    full = standard(source(path, ROOT))
    names = library.compared(full)
    assert not library.borrowed(names, released(full), solved(full))


def test_changed_checks_and_points_are_named(full: Any, tmp_path: Path) -> None:
    form = handed(full)
    assert read(tmp_path, full, form).changed == []
    for cell in form.cells:
        if grade_id(cell) == "one-check":
            cell.source += "  \n"  # what an editor adds
    assert read(tmp_path, full, form).changed == []
    for cell in form.cells:
        if grade_id(cell) == "one-check":
            cell.source = "pass"
    assert read(tmp_path, full, form).changed == ["one-check"]
    form = handed(full)
    for cell in form.cells:
        if grade_id(cell) == "one-check":
            cell.metadata["nbgrader"]["points"] = 500
    extra = {"grade_id": "more", "grade": True, "solution": False, "points": 99, "locked": True}
    form.cells.append(
        {"cell_type": "code", "source": "1", "metadata": {"nbgrader": extra}, "outputs": []}
    )
    assert read(tmp_path, full, form).changed == ["more", "one-check"]


def test_what_breaks_off_and_what_is_forged_is_told_apart(full: Any) -> None:
    ends = grade(full, handed(full, one="import os\nos._exit(3)"))
    assert (ends.stopped, ends.forged) == (["one"], [])
    lies = """
import os
from deepdive_grader.wire import Channel, no_reference, pack
def one():
    Channel(3, 4, 1 << 20).send(pack({"nonce": "0" * 32, "value": 1}, no_reference))
    return 1
"""
    forged = grade(full, handed(full, one=lies))
    assert (forged.stopped, forged.forged) == ([], ["one-check"])
    assert forged.points == 0


def test_the_command_line_of_the_grader_names_no_folder(full: Any) -> None:
    line = seen(full, "open('/proc/1/cmdline').read()")
    assert line.replace("\0", " ").split()[1:] == ["-I", "-B", "-"]

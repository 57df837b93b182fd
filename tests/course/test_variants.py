"""Variants: each student's own, the same for ever, and every check can tell right from wrong."""

from __future__ import annotations

import ast
import hmac
import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest
from checkout import ROOT

from deepdive_book.course.assignment.forms import released, solved
from deepdive_book.course.assignment.overlay import overlay
from deepdive_book.course.assignment.rubrics import rubrics
from deepdive_book.course.assignment.variants import CODE, personal, standard
from deepdive_book.course.exercises import (
    HIDDEN,
    SOLUTION,
    grading,
    is_check,
    is_manual,
    parts,
    source,
    tags,
)
from deepdive_book.site.pages import PageError, exercise_sources

CHAPTERS = [path for path in exercise_sources(ROOT) if path.stem == "exercises"]
each_chapter = pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.parent.name) for p in CHAPTERS]
)
SECRET = b"a secret that no student has seen"
STUDENTS = [f"student-{number:02d}" for number in range(50)]

DEMO = """\
# %% [markdown]
# # Exercises: a demonstration

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, permutation, rename, sample

# %% [markdown]
# ## 1. Sizes
#
# *Write · 5 min · easy · book 1.1*
#
# Add {{SIZES}}, the first of them {{SIZES[0]}}, {{TIMES}} times, with `add_up`.

# %% tags=["variant"] exercise="add"
# Your own.
SIZES = sample(range(1, 10), 3)
TIMES = number(10, 90, 10)  # tens
HALF = TIMES // 2
ORDER = permutation("abcd")
WORD = choose("left", "right", "none")
rename("add_up", "sum_up", "total_of")

# %% tags=["bug"] exercise="add" bug="leaves the last out" caught="all"
def broken(items):
    return sum(items[:-1])

# %% tags=["bug"] exercise="add" bug="counts the first twice" caught="all"
def broken(items):
    return sum(items) + items[0]

# %% nbgrader={"grade_id": "add", "solution": true}
def add_up(items):
    ### BEGIN SOLUTION
    return sum(items)
    ### END SOLUTION

# %% nbgrader={"grade_id": "add-check", "grade": true, "points": 2} own="measure"
assert add_up(SIZES) == sum(SIZES), "add all of them"

# %% [markdown] tags=["hint"] exercise="add" bug="leaves the last out"
# Look at the end.

# %% [markdown] tags=["hint"] exercise="add"
# The bug {{bug of add}}.

# %% [markdown] nbgrader={"grade_id": "add-why", "grade": true, "solution": true, "points": 2}
# ### BEGIN SOLUTION
# Because of {{SIZES}}.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="add-why"
# - **2 points**: all.
# - **1 point**: some,
#   not all.
# - **0 points**: none.
"""

OWN = """\
# %%
import statistics

# %% [markdown]
# ## 1. One more
#
# *Write · 5 min · easy · book 1.1*
#
# With {{MORE}}.

# %% tags=["variant"] exercise="{id}"
from deepdive_book.course.assignment.variants import choose
MORE = choose(5, 6, 7)

# %% nbgrader={"grade_id": "{id}", "solution": true}
def more():
    ### BEGIN SOLUTION
    return MORE
    ### END SOLUTION

# %% nbgrader={"grade_id": "{id}-check", "grade": true, "points": 1}
assert more() == MORE
""".replace("from deepdive_book.course.assignment.variants import choose\n", "")


def read(folder: Path, text: str) -> Any:
    """The exercises of a chapter `01_demo` in `folder`."""
    path = folder / "chapters" / "01_demo" / "exercises.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return source(path, folder)


def values(notebook: Any) -> dict[str, Any]:
    """What the variant cells of a form assign."""
    found = {}
    for cell in notebook.cells:
        if "variant" in tags(cell):
            for statement in ast.parse(cell.source).body:
                assert isinstance(statement, ast.Assign)
                found[statement.targets[0].id] = ast.literal_eval(statement.value)
    return found


def texts(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells]


# -- what is drawn

# Never change these: they would change what students hold in their hands.
VECTORS = {
    "ada": {
        "SIZES": [8, 5, 2],
        "TIMES": 90,
        "HALF": 45,
        "ORDER": ["d", "a", "c", "b"],
        "WORD": "none",
    },
    "émile": {
        "SIZES": [5, 1, 8],
        "TIMES": 50,
        "HALF": 25,
        "ORDER": ["c", "b", "a", "d"],
        "WORD": "right",
    },
}


def test_a_students_values_are_these_for_ever(tmp_path: Path) -> None:
    demo = read(tmp_path, DEMO)
    assert values(personal(demo, SECRET, "ada")) == VECTORS["ada"]
    assert values(personal(demo, SECRET, "émile")) == VECTORS["émile"]
    assert values(personal(demo, SECRET + b"!", "ada")) != VECTORS["ada"]


def test_a_draw_is_the_hmac_of_student_exercise_name_and_count(tmp_path: Path) -> None:
    found = values(personal(read(tmp_path, DEMO), SECRET, "émile"))
    digest = hmac.new(SECRET, b'["\\u00e9mile", "add", "TIMES", 0]', "sha256").digest()
    assert found["TIMES"] == 10 + 10 * (int.from_bytes(digest, "big") % 9)


def test_other_offers_for_one_name_change_no_other(tmp_path: Path) -> None:
    before = values(personal(read(tmp_path, DEMO), SECRET, "ada"))
    more = DEMO.replace("# Your own.\n", "NEW = choose(*range(1, 99))\n").replace(
        "(10, 90", "(0, 900"
    )
    after = values(personal(read(tmp_path, more), SECRET, "ada"))
    same = before.keys() - {"TIMES", "HALF"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}


def test_the_source_runs_as_plain_python_in_its_standard_form(tmp_path: Path) -> None:
    for notebook in (read(tmp_path, DEMO), *map(chapter, CHAPTERS)):
        names: dict[str, Any] = {}
        for cell in notebook.cells:
            if "variant" in tags(cell):
                exec(cell.source, names)
        expected = values(standard(notebook))
        assert {name: names[name] for name in expected} == expected
    assert values(standard(read(tmp_path, DEMO)))["ORDER"] == list("abcd")


def test_a_form_is_literal_and_stays_as_it_is(tmp_path: Path) -> None:
    demo = read(tmp_path, DEMO)
    for form in (standard(demo), personal(demo, SECRET, "ada")):
        assert standard(form) == form
        assert personal(form, SECRET, "bob") == form
        text = "\n".join(texts(form))
        assert not re.search(r"choose|sample|rename|permutation|\{\{|tens", text)
        assert "# Your own.\nSIZES = [" in text
    assert released(demo) == released(standard(demo))
    assert solved(demo) == solved(standard(demo))
    form = standard(demo)
    assert "Add 1, 2 and 3, the first of them 1, 10 times, with `add_up`." in texts(form)[1]
    assert demo == read(tmp_path, DEMO), "the source was changed"


def test_names_change_everywhere(tmp_path: Path) -> None:
    demo = read(tmp_path, DEMO)
    found = set()
    for student in STUDENTS:
        text = "\n".join(texts(personal(demo, SECRET, student)))
        (name,) = set(re.findall(r"add_up|sum_up|total_of", text))
        assert text.count(name) == 3
        found.add(name)
    assert found == {"add_up", "sum_up", "total_of"}


def test_one_bug_stays_with_its_hints_and_no_id_tells_which(tmp_path: Path) -> None:
    demo = read(tmp_path, DEMO)
    found = {}
    for student in STUDENTS:
        form = personal(demo, SECRET, student)
        (bug,) = [cell for cell in form.cells if "bug" in tags(cell)]
        said = re.search(r"The bug (.+)\.", "\n".join(texts(form)))
        assert said is not None
        assert ("Look at the end." in texts(form)) == (said[1] == "leaves the last out")
        assert not {"bug", "caught"} & {key for cell in form.cells for key in cell.metadata}
        found[said[1]] = bug.source, [c.id for c in form.cells if not tags(c) & {"hint"}]
    assert set(found) == {"leaves the last out", "counts the first twice"}
    (one, ids), (other, other_ids) = found.values()
    assert one != other
    assert ids == other_ids


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('exercise="add"\n# Your', 'exercise="sub"\n# Your', "exercise='sub' is no grade id"),
        ("{{TIMES}}", "{{TIME}}", r"\{\{TIME\}\} is no value; there are \['EXERCISES', 'HALF'"),
        ("HALF = TIMES", "TIMES = TIMES", "TIMES must be in capitals, and assigned once"),
        ("HALF = TIMES", "half = TIMES", "half must be in capitals"),
        ("HALF = TIMES // 2", "HALF = range(3)", "HALF is range.* cannot be written as a literal"),
        ("HALF = TIMES // 2", "HALF = {1, 2}", "HALF is {1, 2}, which cannot"),
        ("HALF = TIMES // 2", "HALF = hash('a')", "HALF: name 'hash' is not defined"),
        ("HALF = TIMES // 2", "print(1)", "assigns to names and renames; this is 'print"),
        ('"sum_up", "total_of"', '"broken"', "'broken' is taken"),
        ('"sum_up", "total_of"', '"def"', "'def' is taken, or cannot be a name"),
        ('rename("add_up"', 'rename("adds_up"', "no name of its own"),
        ("return sum(items)\n", "return x.add_up\n", "or an attribute too"),
        ("Because of", "{{bug of sub}}", "there is a bug of"),
        ("# Add {{SIZES}}", "# {{bug of add}}", "names the bug where students read it"),
        ('["hint"] exercise="add" bug="leaves', '["hint"] exercise="add" bug="left', "has no bug"),
    ],
)
def test_a_source_that_would_mislead_is_refused(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in DEMO
    notebook = read(tmp_path, DEMO.replace(old, new, 1))
    for form in (standard, lambda given: personal(given, SECRET, "ada")):
        with pytest.raises(PageError, match=words):
            form(notebook)


def test_a_weak_secret_and_nobody_are_refused(tmp_path: Path) -> None:
    demo = read(tmp_path, DEMO)
    with pytest.raises(ValueError, match="15 bytes; 16 or more"):
        personal(demo, SECRET[:15], "ada")
    with pytest.raises(ValueError, match="student is empty"):
        personal(demo, SECRET, "")


# -- the chapters, for fifty students


@cache
def chapter(path: Path) -> Any:
    return source(path, ROOT)


@cache
def own(path: Path, student: str) -> Any:
    return personal(chapter(path), SECRET, student)


def exercises(notebook: Any) -> list[list[Any]]:
    """What stands before the first exercise, and the cells of each."""
    return [part.cells for part in parts(notebook)]


def key(cells: list[Any]) -> str:
    return "\n".join(cell.source for cell in cells)


def run(cell: Any, names: dict[str, Any]) -> Exception | None:
    try:
        exec(compile(cell.source, cell.id, "exec"), names)
    except Exception as error:
        return error
    return None


@cache
def begun(path: Path) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for cell in exercises(standard(chapter(path)))[0]:
        if cell.cell_type == "code":
            assert run(cell, names) is None
    return names


def distinct(path: Path) -> list[list[Any]]:
    """Every exercise of fifty students once: many share one."""
    found = {key(part): part for student in STUDENTS for part in exercises(own(path, student))[1:]}
    return list(found.values())


def checks(part: list[Any]) -> dict[str, list[Any]]:
    """By solution cell, the checks up to the next one."""
    found: dict[str, list[Any]] = {}
    for cell in part:
        given = grading(cell)
        if given.get("solution") and not is_manual(cell):
            last = found.setdefault(given["grade_id"], [])
        elif is_check(cell):
            last.append(cell)
    return found


@each_chapter
def test_every_variant_is_solved_by_its_solution_and_by_no_wrong_answer(path: Path) -> None:
    for part in distinct(path):
        names = dict(begun(path))
        for cell in part:
            if cell.cell_type == "code" and "wrong-answer" not in tags(cell):
                error = run(cell, names)
                assert error is None, f"{cell.id}: {error!r} in\n{key(part)}"
        rejected = {check.id: 0 for each in checks(part).values() for check in each}
        for wrong in part:
            if "wrong-answer" not in tags(wrong) or wrong.cell_type != "code":
                continue
            tried = dict(names)
            assert run(wrong, tried) is None
            outcomes = {c.id: run(c, tried) for c in checks(part)[wrong.metadata["exercise"]]}
            named = [name for name, e in outcomes.items() if isinstance(e, AssertionError)]
            assert named, f"no check rejects\n{wrong.source}\nin\n{key(part[:3])}"
            for name in named:
                rejected[name] += 1
        assert all(count >= 2 for count in rejected.values()), rejected


@each_chapter
def test_every_released_variant_fails_and_gives_nothing_away(path: Path) -> None:
    secrets = {cell.metadata["bug"] for cell in chapter(path).cells if "bug" in cell.metadata}
    offers = re.compile(r"\b(choose|sample|number|permutation|rename)\(|\{\{|caught")
    first_ids: list[str] = []
    for student in STUDENTS:
        form = released(own(path, student))
        raw = nbformat.writes(form)
        raw = raw.replace("setup(", "")
        assert not offers.search(raw)
        assert SECRET.decode() not in raw
        assert SECRET.hex() not in raw
        assert not [name for name in STUDENTS if name in raw]
        assert not [bug for bug in secrets if bug in raw]
        shown = set(raw.replace("\\n", "").replace('"', "").replace("\\", "").split("\n"))
        shown = {line.strip().rstrip(",") for line in shown}
        for cell in own(path, student).cells:
            if "bug" in tags(cell):  # what is wrong there may be right in the solution
                shown -= {line.strip().rstrip(",") for line in cell.source.splitlines()}
        for cell in own(path, student).cells:
            for region in (*SOLUTION.finditer(cell.source), *HIDDEN.finditer(cell.source)):
                for line in region[0].splitlines():
                    bare = line.replace("\\", "").replace('"', "").strip().rstrip(",")
                    assert len(bare) < 12 or bare not in shown, f"{student}: {line}"
        ids = [cell.id for cell in form.cells]
        first_ids = first_ids or ids
        assert ids == first_ids, "an id tells which variant it is"
    forms = [released(own(path, student)) for student in STUDENTS]
    for part in {key(p): p for form in forms for p in exercises(form)[1:]}.values():
        names = dict(begun(path))
        for cell in part:
            if is_check(cell):
                assert run(cell, names) is not None, f"{cell.id} passes without a solution"
            elif cell.cell_type == "code":
                run(cell, names)


@each_chapter
def test_no_sentence_of_a_form_has_the_name_of_a_function(path: Path) -> None:
    """A new name stands in code; a heading `Look across` stays one (math and links aside)."""
    set_apart = re.compile(r"\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|<[^>]*>", re.DOTALL)
    for student in STUDENTS:
        for cell in own(path, student).cells:
            if cell.cell_type == "markdown":
                text = set_apart.sub("", CODE.sub("", cell.source))
                names = set(re.findall(r"\b[a-z]+_\w+", text)) - {"d_model", "d_head"}
                assert not names, f"{student}, {cell.id}: {names}"


@each_chapter
def test_no_released_form_has_what_only_another_student_has(path: Path) -> None:
    """Their values, names and bugs: each line of code that differs between two is in one alone."""
    for student, other in pairwise(STUDENTS):
        both = (released(own(path, each)).cells for each in (student, other))
        mine, theirs = (set(key(cells).split("\n")) for cells in both)
        assert len(theirs - mine) >= 8, "at least the line of one value an exercise"
        assert not mine & (theirs - mine)


@each_chapter
def test_another_students_numbers_do_not_pass(path: Path) -> None:
    """What a student's own function returned, handed in by the next as it is."""
    tried = 0
    for student, other in pairwise(STUDENTS[:13]):
        both = (exercises(own(path, each)) for each in (student, other))
        for mine, theirs in zip(*both, strict=True):
            for name, found in checks(theirs).items():
                if not any(cell.metadata.get("own") for cell in found):
                    continue
                kept: list[dict[str, Any]] = []
                for part in (mine, theirs):
                    names = dict(begun(path))
                    ours = [c for c in part if "variant" in tags(c) or c.id == name]
                    helpers = [c for c in part if c.cell_type == "code"
                               and re.search(r"def (share|two_spaces)", c.source)]  # fmt: skip
                    for cell in [*helpers, *ours]:
                        assert run(cell, names) is None
                    kept.append(names)
                (function,) = re.findall(r"^def (\w+)", ours[-1].source, re.MULTILINE)
                answer, right = (names[function]() for names in kept)
                if json.dumps(answer) != json.dumps(right):
                    kept[1][function] = lambda answer=answer: answer
                    assert any(run(cell, kept[1]) is not None for cell in found), (name, answer)
                    tried += 1
    assert tried >= 24


@each_chapter
def test_a_third_of_the_points_is_on_ones_own_variant(path: Path) -> None:
    """On predicting or measuring it, as the check says (`own`), or on explaining it to a person."""
    graded = [cell for cell in chapter(path).cells if grading(cell).get("points")]
    asked = [cell for cell in graded if cell.metadata.get("own") or is_manual(cell)]
    points, every = (sum(grading(c)["points"] for c in cells) for cells in (asked, graded))
    assert 3 * points >= every, (points, every)
    kinds = {cell.metadata["own"] for cell in chapter(path).cells if "own" in cell.metadata}
    assert kinds <= {"predict", "measure"}
    forms = [exercises(released(own(path, student))) for student in STUDENTS]
    for place, part in enumerate(exercises(standard(chapter(path)))[1:], start=1):
        texts = {key(form[place]) for form in forms}
        assert len(texts) >= 10, f"only {len(texts)} variants of {part[0].source[:40]}"
        graded = [cell for cell in part if "points" in grading(cell)]
        asked = [cell for cell in graded if cell.metadata.get("own") or is_manual(cell)]
        assert not asked or len(texts) >= 20, part[0].source[:40]


@each_chapter
def test_each_planted_bug_is_given_out_and_caught_by_the_message_it_names(path: Path) -> None:
    """In the exercises of eight students, each with all the bugs in turn."""
    bugs = [cell for cell in chapter(path).cells if "bug" in tags(cell)]
    assert len(bugs) >= 5
    texts = {c.source for s in STUDENTS for c in own(path, s).cells if "bug" in tags(c)}
    assert texts == {cell.source for cell in bugs}
    for student in STUDENTS[:8]:
        for part in exercises(own(path, student))[1:]:
            for place, cell in enumerate(part):
                for bug in bugs if "bug" in tags(cell) else []:
                    if bug.metadata["exercise"] == cell.metadata["exercise"]:
                        said = told_as_it_came(path, [*part[:place], bug, *part[place + 1 :]])
                        assert bug.metadata["caught"] in said, (bug.metadata["bug"], said)


def told_as_it_came(path: Path, part: list[Any]) -> str:
    """What the first check says to the planted bug, handed in unmended."""
    (given,) = [c for c in part if "wrong-answer" in tags(c) and "as it came" in c.source]
    (check, *_) = checks(part)[given.metadata["exercise"]]
    names = dict(begun(path))
    for cell in part[: part.index(check)]:
        if cell.cell_type == "code":
            assert run(cell, names) is None
    assert run(given, names) is None
    error = run(check, names)
    assert isinstance(error, AssertionError)
    return str(error)


@each_chapter
def test_what_a_person_marks_has_a_rubric(path: Path) -> None:
    by_hand = [cell for cell in chapter(path).cells if is_manual(cell)]
    assert {c.id for c in by_hand} == set(rubrics(chapter(path)))
    assert by_hand
    assert not any(grading(cell)["locked"] for cell in by_hand), "students write there"


def test_a_rubric_has_three_levels(tmp_path: Path) -> None:
    assert rubrics(read(tmp_path, DEMO)) == {
        "add-why": [(2, "all."), (1, "some, not all."), (0, "none.")]
    }
    answers = [c for c in released(read(tmp_path, DEMO)).cells if c.id == "add-why"]
    assert texts(nbformat.from_dict({"cells": answers})) == ["*Write your answer here.*"]
    for old, new in (("**2 points**", "**3 points**"), ("**0 points**", "**1 point**")):
        with pytest.raises(PageError, match="add-why needs a rubric of 3 lines"):
            rubrics(read(tmp_path, DEMO.replace(old, new)))
    with pytest.raises(PageError, match=r"its points are \[2, 0\]"):
        rubrics(read(tmp_path, DEMO.replace("# - **1 point**: some,\n#   not all.\n", "")))


@each_chapter
def test_the_first_cell_counts_the_exercises_there_are(path: Path, tmp_path: Path) -> None:
    own_one = lay(tmp_path, OWN.replace("{id}", "more"), path.parent.name)
    for given in (chapter(path), overlay(chapter(path), own_one)):
        form = released(given)
        every = parts(form)[1:]
        minutes = sum(part.minutes for part in every)
        words = f"{len(every)} exercises in rising order, about {minutes} minutes in all."
        assert words in form.cells[0].source
    assert len(every) == len(parts(chapter(path))), "and one more"
    assert 4 <= len(every) - 1 <= 14


# -- an instructor's own


def lay(folder: Path, text: str, chapter: str = "01_demo") -> Path:
    """An overlay with these exercises."""
    path = folder / "overlay" / chapter / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return folder / "overlay"


def test_an_overlay_adds_exercises(tmp_path: Path) -> None:
    demo = read(tmp_path, DEMO)
    both = overlay(demo, lay(tmp_path, OWN.replace("{id}", "more")))
    heads = [text.split("\n")[0] for text in texts(both) if text.startswith("## ")]
    assert heads == ["## 1. Sizes", "## 2. One more"]
    names: dict[str, Any] = {}
    for cell in solved(personal(both, SECRET, "ada")).cells:
        if cell.cell_type == "code":
            assert run(cell, names) is None
    assert names["statistics"]
    assert texts(both).index("import statistics") < texts(both).index("## 1. Sizes\n" + TASK)
    assert len({cell.id for cell in both.cells}) == len(both.cells)
    nbformat.validate(both)


TASK = """
*Write · 5 min · easy · book 1.1*

Add {{SIZES}}, the first of them {{SIZES[0]}}, {{TIMES}} times, with `add_up`."""


def test_an_overlays_exercise_takes_the_place_of_one_with_its_grade_id(tmp_path: Path) -> None:
    both = overlay(read(tmp_path, DEMO), lay(tmp_path, OWN.replace("{id}", "add")))
    heads = [text.split("\n")[0] for text in texts(both) if text.startswith("## ")]
    assert heads == ["## 1. One more"]
    assert "SIZES" not in "\n".join(texts(both))


def test_an_overlay_for_another_chapter_changes_nothing(tmp_path: Path) -> None:
    demo = read(tmp_path, DEMO)
    assert overlay(demo, lay(tmp_path, OWN.replace("{id}", "more"), "07_other")) == demo


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (OWN.replace("## 1. ", "### ").replace("{id}", "more"), "has no head"),
        (
            OWN.replace("{id}-check", "add-check").replace("{id}", "more"),
            r"duplicate grade ids: \['add-check'\]",
        ),
        (OWN.replace("MORE", "SIZES").replace("{id}", "more"), "SIZES must be in capitals, and"),
        (OWN.replace('{id}", "sol', 'x", "sol').replace("{id}", "more"), "is no grade id"),
        (OWN.replace("{{MORE}}", "{{LESS}}").replace("{id}", "more"), "LESS}} is no value"),
        (OWN.split("# %% tags")[0], "'One more' has no cell with a solution"),
    ],
)
def test_an_overlay_that_does_not_fit_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(PageError, match=words):
        overlay(read(tmp_path, DEMO), lay(tmp_path, text))


def test_an_overlay_that_is_not_there_is_told(tmp_path: Path) -> None:
    words = r"has no exercises: expected, for example, 01_demo/exercises.py"
    with pytest.raises(PageError, match=words):
        overlay(read(tmp_path, DEMO), tmp_path / "nowhere")

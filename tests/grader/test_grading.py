"""Grading: right answers get their points, and nothing that a submission does changes a grade."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import shlex
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from checkout import ROOT
from hostile import HOSTILE, TAKEN
from inside import INSIDE, as_user, check_inside

from deepdive_book.course.assignment.forms import released, solved
from deepdive_book.course.assignment.grader import SandboxError
from deepdive_book.course.assignment.grading import Grade, grade
from deepdive_book.course.assignment.limited import Limits
from deepdive_book.course.assignment.plan import grade_id, is_check, plan
from deepdive_book.course.assignment.variants import personal, standard
from deepdive_book.course.exercises import source, tags
from deepdive_book.site.pages import exercise_sources
from deepdive_grader import calls, fork_server, keeper, sandbox

CHAPTERS = [
    pytest.param(path, id=f"{path.parent.name}/{path.stem}") for path in exercise_sources(ROOT)
]
MB = 1 << 20
# Times are far above what an honest cell takes, on a machine that does something else too.
SMALL_LIMITS = Limits(30, 30, 120, memory=400 * MB, processes=8, answer=4 * MB)
# For what never ends; a crowded machine may take long to give it its 3 seconds.
QUICK = replace(SMALL_LIMITS, cell_seconds=3, check_seconds=3, patience=20)
SECRET = "hidden-test-marker-5f1c"

SMALL = f'''
# %% tags=["setup"]
import math

import torch

# %%
def helper(x):
    """Given to all."""
    return 2 * x


# %% nbgrader={{"grade_id": "first", "solution": true}}
def first(x):
    ### BEGIN SOLUTION
    return helper(x)
    ### END SOLUTION


# %% nbgrader={{"grade_id": "first-check", "grade": true, "points": 2}}
for scale in (1.0, 2.0):
    x = scale * torch.arange(4.0)
    assert torch.allclose(first(x), 2 * x), "first must double"

# %% nbgrader={{"grade_id": "first-hidden", "grade": true, "points": 1}}
assert first(torch.ones(2)).shape == (2,), "the shape must stay"
### BEGIN HIDDEN TESTS
{SECRET.replace("-", "_")} = torch.tensor([31.0, 37.0])
assert torch.equal(first({SECRET.replace("-", "_")}), torch.tensor([62.0, 74.0])), "{SECRET}"
### END HIDDEN TESTS

# %% nbgrader={{"grade_id": "second", "solution": true}}
def second(model, x):
    ### BEGIN SOLUTION
    return {{"out": model(x), "n": 3}}
    ### END SOLUTION


WIDTHS = {{1: (2, None)}}

# %% nbgrader={{"grade_id": "second-check", "grade": true, "points": 3}}
class Model(torch.nn.Module):
    answer = 42

    def forward(self, x):
        return x + 1


told = second(Model(), torch.zeros(3))
assert told["n"] == 3 and torch.equal(told["out"], torch.ones(3)), "second must call the model"
assert WIDTHS == {{1: (2, None)}}

# %% [markdown] nbgrader={{"grade_id": "essay", "task": true, "points": 4}}
# Explain.
'''


def notebook(tmp_path: Path, text: str = SMALL) -> Any:
    path = tmp_path / "chapters" / "01_demo" / "exercises.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return source(path, tmp_path)


@pytest.fixture
def small(tmp_path: Path) -> Any:
    return notebook(tmp_path)


@pytest.fixture(autouse=True, scope="module")
def _warm() -> Iterator[None]:
    """A warm process of these tests alone, started with a secret and, of root, in a group more."""
    groups = os.getgroups()
    with pytest.MonkeyPatch.context() as patch:
        fork_server.stop()
        patch.setenv("A_TOKEN", SECRET)
        if os.geteuid() == 0:
            os.setgroups([*groups, 4242])
        fork_server.start()
        if os.geteuid() == 0:
            os.setgroups(groups)
    yield
    fork_server.stop()


def nothing_is_left() -> bool:
    """Whether all processes below the warm one are gone; the keepers need a moment to end."""
    until = time.monotonic() + 20
    while keeper.below(fork_server.start().process.pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def with_answers(full: Any, **answers: str) -> Any:
    """The solved form with some of its solutions replaced."""
    form = solved(full)
    for cell in form.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in answers:
            cell.source = textwrap.dedent(answers[name])
    return form


def points(given: Grade) -> dict[str, float]:
    return {cell.grade_id: cell.points for cell in given.cells if not cell.manual}


def said(given: Grade, name: str) -> str:
    return next(cell.message for cell in given.cells if cell.grade_id == name)


# -- right, wrong and half done


@pytest.mark.parametrize("path", CHAPTERS)
def test_each_chapter_is_graded_as_its_source_says(path: Path) -> None:
    full = standard(source(path, ROOT))
    best = grade(full, solved(full))
    assert not best.refused
    assert not best.trusted
    assert [(c.grade_id, c.points, c.message) for c in best.cells if not c.manual] == [
        (c.grade_id, c.max_points, "") for c in best.cells if not c.manual
    ]
    if path.stem == "clinic":  # six models again: `test_exercises.py` tries the released form
        return
    worst = grade(full, released(full))
    assert worst.points == 0
    for cell in worst.cells:
        # The stub's own words, or those of a given cell that calls it.
        wanted = r"NotImplementedError: write (your solution here|\w+\(\) in exercise \d+ and run)"
        assert cell.manual or re.search(wanted, cell.message), cell


def test_a_student_s_own_variant_is_graded_with_its_own_checks() -> None:
    full = source(ROOT / "chapters" / "02_transformer" / "exercises.py", ROOT)
    forms = {name: personal(full, b"sixteen bytes or more", name) for name in ("ann", "bob")}
    own = grade(forms["ann"], solved(forms["ann"]))
    copied = grade(forms["ann"], solved(forms["bob"]))
    most = sum(cell.max_points for cell in own.cells if not cell.manual)
    assert own.points == most > copied.points
    assert grade(full, solved(full)).points == most  # variants that are not drawn: the first ones


# The clinic trains six models in each turn; `test_exercises.py` tries its wrong answers.
@pytest.mark.parametrize("path", [p for p in CHAPTERS if p.id and p.id.endswith("/exercises")])
def test_each_wrong_answer_loses_points_of_its_exercise_only(path: Path) -> None:
    """Wrong answers to different exercises go into one submission: fewer to grade."""
    full = standard(source(path, ROOT))
    most = {  # what the solved form gets: the test above
        grade_id(cell): cell.metadata.nbgrader.points for cell in full.cells if is_check(cell)
    }
    wrong: dict[str, list[str]] = {}
    for cell in full.cells:
        if cell.cell_type == "code" and "wrong-answer" in tags(cell):
            wrong.setdefault(cell.metadata["exercise"], []).append(cell.source)
    for turn in range(max(map(len, wrong.values()))):
        form = solved(full)
        replaced, checks, inside = [], [], ""
        for cell in form.cells:
            given = cell.metadata.get("nbgrader", {})
            name = given.get("grade_id")
            if given.get("solution") and cell.cell_type == "code":
                inside = ""
                if turn < len(wrong.get(name, [])):
                    cell.source += "\n\n" + wrong[name][turn]
                    inside = name
                    replaced.append(name)
            elif inside and given.get("grade"):
                checks.append((inside, name))
        got = points(grade(full, form))
        for exercise in replaced:
            of_it = [name for owner, name in checks if owner == exercise]
            assert any(got[name] < most[name] for name in of_it), f"{exercise}, answer {turn}"
        others = set(most) - {name for _, name in checks}
        assert {name: got[name] for name in others} == {name: most[name] for name in others}


# What stands for an answer without being one: an object that agrees to everything, and no items.
POSING = """
class Agrees:
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = lambda *_: True
    __bool__ = lambda _: True
    __float__ = lambda _: 0.0
    __call__ = lambda *_, **__: Agrees()
    __len__ = lambda _: 0
for name in NAMES:
    globals()[name] = POSE
"""


@pytest.mark.parametrize("pose", ["Agrees()", "lambda *_, **__: Agrees()", "lambda *_, **__: []"])
@pytest.mark.parametrize("path", [p for p in CHAPTERS if p.id and p.id.endswith("/exercises")])
def test_what_is_no_answer_passes_no_check(path: Path, pose: str) -> None:
    full = standard(source(path, ROOT))
    steps, _ = plan(full, solved(full))
    names = {step["name"]: step["names"] for step in steps if step["kind"] == "solution"}
    posing = {
        name: POSING.replace("NAMES", repr(own)).replace("POSE", pose)
        for name, own in names.items()
    }
    assert not [cell for cell in grade(full, with_answers(full, **posing)).cells if cell.points]


def test_points_by_check_and_a_person_s_points_wait(small: Any) -> None:
    half = with_answers(small, second="WIDTHS = {1: (2, None)}")
    given = grade(small, half)
    assert points(given) == {"first-check": 2, "first-hidden": 1, "second-check": 0}
    assert "does not define 'second'" in said(given, "second-check")
    essay = given.cells[-1]
    assert (essay.grade_id, essay.points, essay.max_points, essay.manual) == ("essay", 0, 4, True)


def test_an_error_costs_its_exercise_and_is_told_with_its_line(small: Any) -> None:
    given = grade(small, with_answers(small, first="def first(x):\n    return x\n\n1 / 0"))
    assert points(given) == {"first-check": 0, "first-hidden": 0, "second-check": 3}
    assert said(given, "first-check") == (
        "Your cell 'first' stopped: ZeroDivisionError: division by zero (line 4 of your cell)"
    )


def test_a_hidden_test_stays_hidden_in_what_a_student_reads(small: Any) -> None:
    near = "def first(x):\n    return x * 2 if x[0] < 9 else x"
    given = grade(small, with_answers(small, first=near))
    assert said(given, "first-hidden") == "A test that you do not see failed"
    loud = "def first(x):\n    assert x[0] < 9, x\n    return 2 * x"
    given = grade(small, with_answers(small, first=loud))
    assert "31" not in said(given, "first-hidden")
    assert points(given)["first-check"] == 2


def test_cells_that_a_student_added_run_before_the_next_solution(small: Any) -> None:
    form = with_answers(small, first="%timeit 1\ndef first(x):\n    return doubled(x)")
    at = next(i for i, cell in enumerate(form.cells) if cell.id == "first")
    form.cells.insert(at, nbformat.v4.new_code_cell("def doubled(x):\n    return 2 * x"))
    assert points(grade(small, form))["first-hidden"] == 1


def test_missing_and_doubled_cells(small: Any) -> None:
    form = solved(small)
    form.cells = [cell for cell in form.cells if cell.id != "second"]
    given = grade(small, form)
    assert points(given) == {"first-check": 2, "first-hidden": 1, "second-check": 0}
    assert said(given, "second-check") == "The cell 'second' is missing"
    form.cells += [deepcopy(cell) for cell in solved(small).cells if cell.id == "second"] * 2
    assert points(grade(small, form))["second-check"] == 3


# -- submissions that are none


def bare(**metadata: Any) -> Any:
    form: Any = {"metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return form | {"cells": [nbformat.v4.new_code_cell("1")]}


REFUSED: list[tuple[str, str]] = [
    ("{ this is no JSON", "is not a notebook"),
    ('["a list"]', "is not a notebook"),
    ('{"cells": 3, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "is not a notebook"),
    ("[" * 100_000, "is not a notebook"),
    (json.dumps(bare(kernelspec={"name": "ir", "language": "R"})), "kernel is 'ir' (R)"),
    (json.dumps(bare(kernelspec={"name": "python3"})), "No cell of this assignment"),
    (json.dumps(bare(deep=json.loads("[" * 300 + "]" * 300))), "nested deeper than 50"),
    (json.dumps(bare(half="\ud800")), "half a character"),
    (json.dumps(bare() | {"cells": [{"id": [], "source": "1", "metadata": {}}]}), "not a notebook"),
    (json.dumps(bare() | {"cells": [bare()["cells"][0]] * 100_000}), "more than 1,000 cells"),
    (json.dumps(bare() | {"cells": [nbformat.v4.new_code_cell("1" * 200_001)]}), "200,000 charac"),
    (" " * 20_000_001, "larger than 20 MB"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_cannot_be_graded_is_refused_by_name(
    small: Any, tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "exercises.ipynb"
    path.write_text(text)
    given = grade(small, path)
    assert words in given.refused
    assert points(given) == {"first-check": 0, "first-hidden": 0, "second-check": 0}


@pytest.mark.parametrize("kind", ["link", "pipe", "device", "folder"])
def test_what_is_no_file_of_the_student_s_own_is_refused(
    small: Any, tmp_path: Path, kind: str
) -> None:
    """A link could hand in another's work, or show a secret; a pipe would keep the grader."""
    path, other = tmp_path / "handed.ipynb", tmp_path / "other.ipynb"
    other.write_text(nbformat.writes(solved(small)))
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(other if kind == "link" else "/dev/zero")
    words = {"pipe": "not a plain file", "folder": "cannot be read"}.get(kind, "is a link")
    given = grade(small, path)
    assert words in given.refused
    assert given.points == 0
    assert grade(small, other).points == 6


# -- hostile submissions. Each is the answer to `first`; `second` must get its points all the same.


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A server outside, and what reached it."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            try:
                while True:
                    heard.append(server.accept()[0].recv(100))
            except OSError:
                return

        threading.Thread(target=listen, daemon=True).start()
        yield server.getsockname()[1], heard


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_gets_nothing_and_costs_the_rest_nothing(
    small: Any, name: str, listener: tuple[int, list[bytes]]
) -> None:
    text, words = HOSTILE[name]
    port, heard = listener
    answer = textwrap.dedent(text).replace("PORT", str(port))
    limits = QUICK if "longer" in words else SMALL_LIMITS
    given = grade(small, with_answers(small, first=answer), limits=limits)
    assert points(given)["first-check"] == 0, said(given, "first-check")
    assert words in said(given, "first-check")
    assert points(given)["second-check"] == 3, said(given, "second-check")
    assert not given.refused
    assert not heard
    assert nothing_is_left()
    assert torch.equal(torch.tensor(1), torch.tensor(1))


@pytest.mark.parametrize("value", ["5", "None", "{1: 2}", "[sys, 7]"])
def test_a_worker_that_lies_about_its_names_fails_no_one_else(small: Any, value: str) -> None:
    """The judge's own fault ends the grading of a class: what a worker sends must never be one."""
    given = grade(small, with_answers(small, first=f"{TAKEN}send(value={value})"))
    assert points(given)["first-check"] == points(given)["first-hidden"] == 0
    assert not given.refused


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("    while True:\n        model(x)", "it ran longer than 3 s"),
        ("    return second(model, model(x))", "RecursionError"),
        ("    model.__call__.__func__.__code__ = model(x)", "Your code raised"),
    ],
)
def test_calls_of_the_grader_s_objects_end(small: Any, how: str, words: str) -> None:
    answer = f"WIDTHS = {{1: (2, None)}}\ndef second(model, x):\n{how}"
    given = grade(small, with_answers(small, second=answer), limits=QUICK)
    assert points(given) == {"first-check": 2, "first-hidden": 1, "second-check": 0}
    assert words in said(given, "second-check")


def test_a_long_message_is_cut(tmp_path: Path) -> None:
    full = notebook(tmp_path, SMALL.replace('"first must double"', "first(None)"))
    loud = "def first(x):\n    return 'long' * 10**5 if x is None else x"
    given = grade(full, with_answers(full, first=loud))
    assert 2000 < len(said(given, "first-check")) < 2100


def test_a_fork_of_the_student_s_has_no_say(small: Any) -> None:
    """It returns from the cell and from each call as its parent does; only the parent answers."""
    twice = "import os\nos.fork()\ndef first(x):\n    os.fork()\n    return 2 * x"
    assert grade(small, with_answers(small, first=twice)).points == 6


def test_a_check_that_fails_without_words_fails(tmp_path: Path) -> None:
    silent = """
    try:
        first(x)
    except ValueError as error:
        raise KeyError from error
    assert"""
    full = notebook(tmp_path, SMALL.replace("    assert", silent, 1))
    assert grade(full, solved(full)).points == 6
    # Made of a text, it has no line in the cell that could be told.
    first = """exec("def first(x):\\n    raise ValueError('')")"""
    given = grade(full, with_answers(full, first=first))
    assert points(given)["first-check"] == 0


def test_the_listener_of_these_tests_can_be_reached(
    small: Any, listener: tuple[int, list[bytes]]
) -> None:
    """Without the sandbox the same answer does reach it, so that its silence means something."""
    port, heard = listener
    answer = textwrap.dedent(HOSTILE["socket"][0]).replace("PORT", str(port))
    given = grade(small, with_answers(small, first=answer), trust=True)
    assert given.trusted
    assert heard == [b"grade me"]


def test_a_number_that_makes_a_check_compute_for_ever_is_stopped(tmp_path: Path) -> None:
    text = SMALL.replace("first(torch.ones(2)).shape == (2,)", "sum(range(int(first(x)[-1]))) > 1")
    full = notebook(tmp_path, text)
    form = with_answers(full, first="def first(x):\n    return x * 1e15")
    given = grade(full, form, limits=QUICK)
    assert "too long" in said(given, "first-hidden")
    assert points(given)["second-check"] == 3


def test_the_whole_submission_has_a_limit(small: Any) -> None:
    slow = Limits(total_seconds=3, patience=20)
    given = grade(small, with_answers(small, first="while True:\n    pass"), limits=slow)
    assert "it ran longer than 3 s in all" in said(given, "second-check")
    assert given.points == 0


# -- what a submission can see and touch

LOOK = """
import gc, os, sys, inspect, traceback
def walk():
    found = []
    for folder, names, files in os.walk("/"):
        if folder.startswith("/proc"):
            names.clear()
        for file in files:
            path = os.path.join(folder, file)
            if file.endswith((".ipynb", ".db", ".csv", ".txt")) or "exercises" in file:
                found.append(path)
            elif folder.startswith(("/student", "/tmp/pytest", "/home")):
                found.append(path)
    return found

def readable(path):
    try:
        with open(path, "rb") as file:
            return file.read(1 << 22)
    except OSError:
        return b""

MARK = "-".join(["hidden", "test", "marker", "5f1c"])
def hunt():
    seen = []
    for path in walk():
        if MARK.encode() in readable(path):
            seen.append(path)
    for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
        for what in ("cmdline", "environ", "status"):
            if MARK.encode() in readable(f"/proc/{pid}/{what}"):
                seen.append(f"{pid} {what}")
    for thing in gc.get_objects():
        if isinstance(thing, dict) and any(
            isinstance(v, str) and MARK in v and v != MARK for v in list(thing.values())
        ):
            seen.append("gc")
    frame = sys._getframe()
    while frame is not None:
        kept = [v for v in frame.f_locals.values() if isinstance(v, str) and v != MARK]
        seen += ["frame" for v in kept if MARK in v]
        frame = frame.f_back
    return seen
"""


def report(full: Any, code: str, limits: Limits = SMALL_LIMITS) -> dict[str, Any]:
    """What `code` finds in the worker: it leaves a dict `facts`."""
    tell = "\nraise ValueError(repr(facts))"
    given = grade(full, with_answers(full, first=textwrap.dedent(code) + tell), limits=limits)
    text = said(given, "first-check")
    assert "ValueError: {" in text, text
    assert points(given)["second-check"] == 3
    facts = eval(text[text.index("{") : text.rindex("}") + 1])
    assert isinstance(facts, dict)
    return facts


def test_a_submission_finds_neither_hidden_tests_nor_others_nor_a_way_to_write(
    tmp_path: Path,
) -> None:
    course = tmp_path / "course"
    course.mkdir()
    for name in ("gradebook.db", "other_student.ipynb"):
        (course / name).write_text(SECRET)
    full = notebook(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    look = LOOK + textwrap.dedent(f"""
        import shutil
        facts = {{
            "seen": hunt(),
            "course": os.path.exists({str(course)!r}) or os.path.exists({str(ROOT / "chapters")!r}),
            "pids": sorted(int(p) for p in os.listdir("/proc") if p.isdigit()),
            "token": os.environ.get("A_TOKEN"),
            "uid": os.getuid(),
            "nets": sorted(os.listdir("/sys/class/net")) if os.path.exists("/sys/class") else [],
            "fds": len(os.listdir("/proc/self/fd")),
            "root": os.statvfs("/").f_flag & os.ST_RDONLY,
            "torch": os.statvfs(os.path.dirname(torch.__file__)).f_flag & os.ST_RDONLY,
        }}
        library = {str(ROOT / "lib" / "deepdive")!r}
        packages = os.path.dirname(torch.__file__)
        for place in [packages, library, "/", "/dev"]:
            try:
                open(os.path.join(place, "planted"), "w")
                facts["wrote"] = place
            except OSError:
                pass
        for place in [packages + "/nn", library, "/dev", "/etc", "/home", "/student"]:
            shutil.rmtree(place, ignore_errors=True)
        open("/student/mine", "w").write("ok")
    """)
    patient = replace(SMALL_LIMITS, cell_seconds=200, total_seconds=300)  # it reads all there is
    facts = report(full, look, patient)
    assert facts["pids"] == [1]
    assert facts["fds"] <= 6
    assert facts["uid"] == sandbox.NOBODY
    assert facts["root"]  # nobody may write there, and the mount says so too
    assert facts["torch"]
    # Its own environment is empty; what it was forked from never had one to leak.
    warm = Path(f"/proc/{fork_server.start().process.pid}/environ").read_text()
    assert "PATH=" in warm
    assert SECRET not in warm
    rest = {key: facts.get(key) for key in ("seen", "course", "token", "nets", "wrote")}
    assert rest == {"seen": [], "course": False, "token": None, "nets": [], "wrote": None}
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_grader_s_objects_can_be_called_and_nothing_else(small: Any) -> None:
    peek = """
        def second(model, x):
            for name in ("answer", "forward", "__class__.answer", "state_dict", "__dict__"):
                try:
                    eval("model." + name)
                except AttributeError:
                    continue
                raise ValueError(name)
            return {"out": model(x), "n": 3}

        WIDTHS = {1: (2, None)}
    """
    given = grade(small, with_answers(small, second=peek))
    assert points(given)["second-check"] == 3, said(given, "second-check")


@pytest.mark.parametrize(
    ("asks", "words"),
    [
        ("n == 3", "compares with nothing"),
        ("not n != 3", "compares with nothing"),
        ("n in [3]", "compares with nothing"),
        ("n", "neither true nor false"),
        ("n is not None and n or True", "neither true nor false"),
        ("{n: True}", "unhashable"),
        ("hasattr(n, '__array__')", "This does not hold"),
    ],
)
def test_an_object_of_the_student_s_is_neither_true_nor_equal(
    tmp_path: Path, asks: str, words: str
) -> None:
    always = """
        class Right:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            def __hash__(self): return 3
            def __bool__(self): return True
            def __array__(self, *a, **k): return torch.tensor(3).numpy()

        def second(model, x): return {"out": model(x), "n": Right()}

        WIDTHS = {1: (2, None)}
    """
    check = next(line for line in SMALL.splitlines() if line.startswith('assert told["n"]'))
    full = notebook(tmp_path, SMALL.replace(check, f'n = told["n"]\nassert {asks}'))
    given = grade(full, with_answers(full, second=always))
    assert points(given)["second-check"] == 0
    assert words in said(given, "second-check")


# -- each wall for itself: where two stand behind each other, the tests above see only both fall


def test_a_submission_has_no_rights_and_its_limits(small: Any) -> None:
    facts = report(small, INSIDE)
    check_inside(facts, SMALL_LIMITS)
    assert facts["groups"] == []  # an ordinary user cannot leave his: they show as nobody's


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's processes cannot be counted")
def test_who_would_run_as_root_after_all_does_not_run() -> None:
    """Root's processes have no limit: were the user not left, a fork bomb would be stopped here."""
    code = "from deepdive_grader import sandbox; sandbox.limit_processes(8)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "the number of processes cannot be limited for this user" in told.stderr


def test_memory_counts_where_it_is_shared_or_swapped_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        "Name:\tpython",
        "RssAnon:\t1 kB",
        "RssFile:\t2 kB",
        "RssShmem:\t4 kB",
        "VmSwap:\t8 kB",
    ]
    (tmp_path / "status").write_text("\n".join(lines))
    monkeypatch.setattr(keeper, "Path", lambda _: tmp_path / "status")
    assert keeper._own_memory(1) == 1024 * (1 + 4 + 8)


def test_a_process_that_ended_has_no_memory() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert keeper._own_memory(pid) == 0
    os.waitpid(pid, 0)


def test_system_calls_that_escape_the_limits_are_refused(small: Any) -> None:
    """By each of the numbers that a machine knows them by."""
    numbers = calls.numbers()
    assert (platform.machine() in ("x86_64", "aarch64")) == bool(numbers)
    if platform.machine() == "x86_64":
        numbers |= {f"x32 {name}": number | 1 << 30 for name, number in numbers.items()}
    facts = report(
        small,
        f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        def tried(number):
            ctypes.set_errno(0)
            return libc.syscall(number, 0, 0, 0, 0, 0), ctypes.get_errno()
        facts = {{name: tried(number) for name, number in {numbers}.items()}}
        """,
    )
    assert facts == dict.fromkeys(numbers, (-1, errno.EPERM))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="has no 32-bit calls beside its own")
def test_calls_of_another_machine_end_the_process(small: Any) -> None:
    answer = """
        import ctypes, mmap
        may, own = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC, mmap.MAP_PRIVATE
        page = mmap.mmap(-1, 4096, flags=own | mmap.MAP_ANONYMOUS, prot=may)
        page.write(bytes.fromhex("b814000000 cd80 c3"))  # getpid, as a 32-bit program asks
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    """
    given = grade(small, with_answers(small, first=answer))
    assert "SIGSYS" in said(given, "first-check")
    assert points(given)["second-check"] == 3


def test_an_ordinary_user_s_submissions_are_locked_in_too(small: Any, tmp_path: Path) -> None:
    """Everything above runs as root where the tests do; here nobody in particular grades."""
    form = with_answers(small, first=textwrap.dedent(INSIDE) + "raise ValueError(repr(facts))")
    given = as_user(4242, tmp_path, small, form, SMALL_LIMITS)
    if "refused" in given:  # a system where only root may: then it says what to do
        assert sandbox.FIX in given["refused"]
        return
    assert given["points"] == {"first-check": 0, "first-hidden": 0, "second-check": 3}
    text = given["message"]
    check_inside(eval(text[text.index("{") : text.rindex("}") + 1]), SMALL_LIMITS)


# -- where there is no sandbox


def test_other_systems_grade_only_what_is_trusted(
    small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxError, match=r"Only Linux .*--trust-submissions"):
        grade(small, solved(small))


def test_trusted_grading_says_so_and_gives_the_same_points(small: Any) -> None:
    given = grade(small, solved(small), trust=True)
    assert given.trusted
    assert points(given) == {"first-check": 2, "first-hidden": 1, "second-check": 3}


def test_what_a_trusted_submission_leaves_running_is_ended(small: Any, tmp_path: Path) -> None:
    stays = f"""
        import os, time
        if os.fork() == 0:
            os.setsid()
            open({str(tmp_path / "new")!r}, "w").write(str(os.getpid()))
            os.rename({str(tmp_path / "new")!r}, {str(tmp_path / "pid")!r})
            time.sleep(600)
        while not os.path.exists({str(tmp_path / "pid")!r}):
            time.sleep(0.05)
    """
    given = grade(small, with_answers(small, first=stays), limits=QUICK, trust=True)
    assert points(given)["second-check"] == 3
    pid = (tmp_path / "pid").read_text()
    assert pid
    assert not Path(f"/proc/{pid}").exists()


def test_where_namespaces_are_refused_grading_stops_and_names_the_fix(
    small: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel itself refuses: the warm process may make no further namespace."""
    python = tmp_path / "python"
    refuse = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
    inside = shlex.join(["unshare", "--user", "--map-root-user", "sh", "-c", refuse, "sh"])
    python.write_text(f'#!/bin/sh\nexec {inside} {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    fork_server.stop()
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(SandboxError) as refused:
        grade(small, solved(small))
    text = str(refused.value)
    assert text.startswith("new namespaces: ")
    assert "kernel.apparmor_restrict_unprivileged_userns=0" in text
    assert "--trust-submissions" in text
    given = grade(small, solved(small), trust=True)
    assert given.trusted
    assert given.points == 6
    fork_server.stop()

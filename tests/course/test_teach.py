"""The guide for instructors: its commands run, as they stand in its text."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deepdive_book import cli
from deepdive_book.course.assignment import course, marking
from deepdive_book.site.pages import discover


def blocks(root: Path) -> list[list[str]]:
    """The commands of each `sh` block of the guide."""
    text = (root / "book" / "teach.md").read_text(encoding="utf-8")
    found = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    return [[line for line in block.splitlines() if line] for block in found]


def test_the_guide_s_commands_run_in_their_order(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    (commands,) = blocks(root)
    for line in commands:
        program, *words = shlex.split(line)
        assert program == "deepdive"
        done = CliRunner().invoke(cli.main, words)
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"
    made = course.Course.open(tmp_path / "rehearsal")
    results = {s.id: marking.result_of(made, s.id, "02_transformer") for s in made.students}
    points = {name: result.points for name, result in results.items() if result is not None}
    most = max(points.values())
    solved, partly, wrong, colab, untouched, endless = points.values()
    assert solved == colab == most > partly > wrong
    assert untouched == 0 < endless < most
    assert len((tmp_path / "grades.csv").read_text(encoding="utf-8").splitlines()) == 7
    assert len(list(made.root.glob("feedback/*/02_transformer/exercises.html"))) == 6


def test_every_command_that_the_guide_names_exists(root: Path) -> None:
    text = (root / "book" / "teach.md").read_text(encoding="utf-8")
    named = set(re.findall(r"deepdive assignment (\w+)", text))
    group: Any = cli.main.commands["assignment"]
    known = set(group.commands)
    assert named <= known
    assert known - {"rehearse"} <= named
    options = {
        option
        for command in [*group.commands.values(), cli.main.commands["sheet"]]
        for parameter in command.params
        for option in parameter.opts
    }
    assert set(re.findall(r"`[^`]*?(--[a-z][a-z-]+)", text)) <= options


def test_the_guide_names_every_flag(root: Path) -> None:
    text = (root / "book" / "teach.md").read_text(encoding="utf-8")
    every = marking.Result(
        "s",
        "",
        "",
        True,
        "why",
        True,
        ["a"],
        ["b"],
        ["c"],
        0,
        0,
        0,
        True,
        ["d"],
        ["e"],
        ["f"],
        ["g"],
    )
    flags = {"late", "trusted", "refused", "repaired", "missing", "double", "unclear", "crowded"}
    flags |= {"tampered", "stopped", "library"}
    assert set(every.flags) == flags
    for flag in every.flags:
        assert f"| `{flag}` |" in text


@pytest.mark.parametrize(
    ("folder", "number", "seminar", "weeks"),
    [
        ("04_multilingual", "4", "**A seminar on multilingual models.**", 4),
        ("06a_text", "6a", "**A seminar on language models.**", 3),
        ("06b_vision", "6b", "**A seminar on vision.**", 4),
        ("06c_speech", "6c", "**A seminar on speech.**", 3),
        ("07_explain", "7", "**A seminar on explainability.**", 5),
    ],
)
def test_the_guide_s_minutes_are_those_of_the_pages_and_exercises(
    root: Path, folder: str, number: str, seminar: str, weeks: int
) -> None:
    guide, chapter = (root / "book" / "teach.md").read_text("utf-8"), root / "chapters" / folder
    pages = (page for page in discover(root) if page.source.parent == chapter)
    minutes = {page.number: page.summary().minutes for page in pages}
    (row,) = [x for x in guide.splitlines() if x.startswith(f"| | | or 13 | {number}.")]
    stated = re.findall(rf"({number}\.\d+) [^(,]+ \((\d+)", row)
    assert len(stated) >= 3
    for page, said in stated:
        assert minutes[page] == int(said), page
    texts = [(chapter / f"{name}.py").read_text("utf-8") for name in ("exercises", "clinic")]
    each = [[int(n) for n in re.findall(r"^# \*.* · (\d+) min · ", t, re.M)] for t in texts]
    lasts = sum(each[0][:4]), sum(each[1])
    assert (
        f"exercises 1 to 4 of chapter {number} ({lasts[0]} min), its bug clinic ({lasts[1]}" in row
    )
    told = guide[guide.index(seminar) :].split("\n\n")[0].replace("\n", " ")
    found = re.findall(rf"({number}\.[^;(:]+) \((\d+)(?: min to read)?\)", told)
    assert len(found) == weeks
    for some, said in found:
        assert sum(minutes[n] or 0 for n in re.findall(rf"{number}\.\d+", some)) == int(said), some

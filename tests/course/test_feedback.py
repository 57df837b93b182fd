"""A page for each student, with nothing hidden in it, and nothing that runs."""

from __future__ import annotations

import html
import os
import re
import signal
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from checkout import ROOT
from classroom import CHAPTER, SQUARE, TWICE, answers, call, everyone, hand_in, mark_all
from nbconvert.filters import markdown2html

from deepdive_book.course.assignment import feedback, marking, records
from deepdive_book.course.assignment.course import Course, literal, read
from deepdive_book.course.assignment.forms import released, solved
from deepdive_book.course.assignment.grading import CellGrade, Grade
from deepdive_book.course.assignment.limited import Limits
from deepdive_book.course.assignment.marking import result_of
from deepdive_book.course.assignment.plan import grade_id, has_points, is_check
from deepdive_book.course.assignment.release import assignments, release
from deepdive_book.course.assignment.repair import writable

if TYPE_CHECKING:
    from browser import Reader


def page_of(course: Course, student: str, chapter: str = CHAPTER) -> str:
    """The feedback of a student, which the command wrote."""
    return (course.folder("feedback", student, chapter) / "exercises.html").read_text("utf-8")


def text_of(page: str) -> str:
    """What a page shows, without blanks."""
    return re.sub(r"\s", "", html.unescape(re.sub(r"<[^>]*>", "", page)))


def quoting(source: Any, submission: Any, **given: Any) -> Grade:
    """Fail each check with its own first public assertion for words, as the judge does."""
    cells = []
    public = {grade_id(cell): cell.source for cell in released(source).cells}
    for cell in filter(has_points, source.cells):
        name, most = grade_id(cell), cell.metadata.nbgrader.points
        said = [line.strip() for line in public[name].splitlines() if "assert" in line]
        message = f"This does not hold: {said[0]}" if said else "no"
        cells.append(CellGrade(name, 0.0, most, message * is_check(cell), not is_check(cell)))
    return Grade(cells)


def from_colab(notebook: Any) -> str:
    """A notebook without ids and marks, with a student's notes below each text."""
    bare = nbformat.v4.new_notebook()
    for number, cell in enumerate(notebook.cells):
        new = (
            nbformat.v4.new_code_cell if cell.cell_type == "code" else nbformat.v4.new_markdown_cell
        )
        bare.cells.append(new(cell.source))
        if cell.cell_type == "markdown":
            bare.cells.append(nbformat.v4.new_markdown_cell(f"My note {number}."))
    return str(nbformat.writes(bare))


@pytest.mark.parametrize("chapter", assignments(ROOT))
def test_each_chapter_goes_from_its_release_to_feedback(
    course: Course, monkeypatch: pytest.MonkeyPatch, chapter: str
) -> None:
    monkeypatch.setattr(marking, "grade", quoting)
    release(course, chapter, ROOT)
    full = literal(read(course.source(chapter)), None, "")
    form = released(full)
    text = nbformat.writes(form)
    for cell, own in zip(form.cells, solved(full).cells, strict=True):
        if writable(own):
            cell.source = re.sub(r" *### (BEGIN|END) SOLUTION\n?", "", own.source)
    with zipfile.ZipFile("d.zip", "w") as archive:
        archive.writestr("Ann Full_1_assignsubmission_file_/e.ipynb", nbformat.writes(form))
        archive.writestr("Bob Half_2_assignsubmission_file_/e.ipynb", text)
        archive.writestr("Éve O'Wrong_3_assignsubmission_file_/e.ipynb", from_colab(form))
    download, where = str(Path("d.zip").resolve()), str(course.root)
    monkeypatch.chdir(ROOT)  # the checkout that has this chapter
    assert "3 taken" in call("collect", where, chapter, download).output
    assert call("grade", where, chapter).exit_code == 0
    lost = [
        r.missing + r.unclear for s in ("ann", "bob", "eve") if (r := result_of(course, s, chapter))
    ]
    assert lost == [[], [], []]
    said = call("feedback", where, chapter)
    assert (said.exit_code, "Withheld" in said.output) == (0, False), said.output
    for student in ("ann", "bob", "eve"):
        told = text_of(page_of(course, student, chapter))
        messages = [cell.message for cell in quoting(full, None).cells]
        assert all(re.sub(r"\s", "", message) in told for message in messages)


def test_feedback_shows_messages_and_nothing_hidden(course: Course) -> None:
    everyone(course)
    mark_all(course)
    assert "3 pages" in call("feedback", "course", "1").output
    page = page_of(course, "eve")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))
    assert "twice 3 is 6, yours is 9: have you squared" in text
    assert "Score: 1.0 / 8.0" in text
    assert "1. Twice: check twice-check (Score: 0.0 / 2.0)" in text
    assert "3. Why: answer why" in text
    assert "Test cell (" not in text
    assert "<math" in page
    assert "<small>of the course</small>" in page
    for secret in ("-83", "hidden word", "the solution of", "model answer", "rubric"):
        assert secret not in text
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


def test_a_page_of_a_refused_file_says_why_once_and_shows_no_form(course: Course) -> None:
    hand_in(course, "ann", answers(course))
    course.submission("ann", CHAPTER).write_text("this is not one")
    mark_all(course)
    assert "1 pages" in call("feedback", "course", "1").output
    text = re.sub(
        r"\s+", " ", re.sub(r"<[^>]*>", "", page_of(course, "ann").partition("</head>")[2])
    )
    assert text.count("Not graded.") == 1
    assert text.count("not a notebook") == 1
    assert "Score: 0.0 / 8.0" in text
    assert "Write $2 x$" not in text
    assert "return x" not in text


def test_a_message_that_quotes_the_solution_is_withheld_and_the_rest_is_written(
    course: Course,
) -> None:
    everyone(course)
    line = "return x + twice(x)  # the solution of the second"
    raising = f"def thrice(x):\n    raise ValueError({line[:9]!r} + {line[9:]!r})"
    hand_in(course, "ann", answers(course, twice=SQUARE, thrice=raising))
    mark_all(course)
    said = call("feedback", "course", "1")
    assert (said.exit_code, "3 pages" in said.output) == (0, True), said.output
    assert "  ann: thrice-check\n" in said.output
    page = page_of(course, "ann")
    assert re.sub(r"\s", "", line) not in text_of(page)
    assert "Withheld: it quotes" in page
    assert "have you squared it?" in page
    assert "Withheld" not in page_of(course, "bob") + page_of(course, "eve")


def test_no_hidden_line_reaches_a_page_by_a_message_a_comment_or_a_locked_cell(
    course: Course,
) -> None:
    everyone(course)
    mark_all(course)
    hidden = 'assert twice(-41.5) == -83, "a hidden word"'
    path = course.folder("autograded", "eve", CHAPTER) / "exercises.ipynb"
    shown = read(path)
    cells = {cell.id: cell for cell in shown.cells}
    cells["twice-check"].outputs[0].traceback = [f"This does not hold: {hidden}"]
    cells["thrice-check"].source += f"\n    {hidden}"
    path.write_text(nbformat.writes(shown))
    with records.gradebook(course) as book:
        comment = book.find_comment("why", "exercises", CHAPTER, "eve")
        comment.manual_comment = f"Look:\n\n{hidden}"
        book.db.commit()
    assert "  eve: twice-check, thrice-check, why\n" in call("feedback", "course", "1").output
    page = page_of(course, "eve")
    assert "hidden word" not in page
    assert "-83" not in page


def test_a_page_shows_so_much_of_a_student_and_no_more(course: Course) -> None:
    notebook = answers(course, twice=f"{TWICE}  # {'(' * 40_000}", why="word " * 8_000)
    notebook.cells.append(nbformat.v4.new_code_cell("#" * 80_000))
    hand_in(course, "ann", notebook)
    mark_all(course)
    assert "1 pages" in call("feedback", "course", "1").output
    told = text_of(page_of(course, "ann").partition("</head>")[2])
    assert 40_000 < len(told) < 70_000
    assert "#...and80,000charactersmore" in told
    assert "Score:3.0/8.0" in told
    assert "thrice2is6" in told


@pytest.mark.parametrize("how", ["time", "memory", "error", "killed"])
def test_a_page_that_takes_too_much_stops_nobody_else(
    course: Course, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    render = feedback.rendered

    def ends(notebook: Any, about: Any, source: Any, form: Any, name: str) -> Any:
        while how == "time" and "ann" in name:
            pass
        if "ann" in name:
            bytes(1 << 30) if how == "memory" else None
            os.kill(os.getpid(), signal.SIGKILL) if how == "killed" else int("no number")
        return render(notebook, about, source, form, name)

    monkeypatch.setattr(feedback, "rendered", ends)
    monkeypatch.setattr(feedback, "RENDERING", Limits(total_seconds=1, patience=60, memory=1 << 29))
    for student in ("ann", "bob"):
        hand_in(course, student, answers(course, twice=TWICE))
    mark_all(course)
    told = call("feedback", "course", "1")
    assert told.exit_code == 0
    assert "1 pages in" in told.output
    assert "No page for ann: the notebook cannot be rendered: it" in told.output or how == "error"
    assert "ValueError: invalid literal" in told.output or how != "error"
    assert "Score" in page_of(course, "bob")
    assert not (course.folder("feedback", "ann", CHAPTER) / "exercises.html").exists()


NASTY = "<script>told.push(1)</script><img src=x onerror=alert(2)>"
LINKS = (
    "[x](javascript:alert(4))", "[x](\n  JavaScript:5)", "[x][y]\n\n[y]: java&#115;cript:6",
    "[x](<data:text/html,7>)", "<javascript:8>", "[x](\\javascript:9)",
    "![x](http://elsewhere.test/seen.png)", "![x][y]\n\n[y]: http://elsewhere.test/seen.png",
)  # fmt: skip


def hostile(course: Course) -> None:
    """Three students put what a browser would run or load wherever a notebook has a place."""
    raising = f"def thrice(x):\n    raise ValueError({NASTY!r})"
    notebook = answers(course, twice=f"{TWICE}  # {NASTY}", thrice=raising, why=f"Ah {NASTY}")
    notebook.cells.append(nbformat.v4.new_raw_cell(NASTY))
    notebook.cells += [nbformat.v4.new_markdown_cell(f"{link} `code` {NASTY}") for link in LINKS]
    hand_in(course, "ann", notebook)
    notebook = answers(course, twice=TWICE)
    notebook.metadata["kernelspec"] = {"name": NASTY, "language": "R", "display_name": NASTY}
    hand_in(course, "bob", notebook)
    notebook = answers(course, twice=TWICE)
    text = nbformat.writes(notebook).replace('"nbformat": 4', f'"nbformat": "{NASTY}"')
    course.submission("eve", CHAPTER).parent.mkdir(parents=True)
    course.submission("eve", CHAPTER).write_text(text)
    (course.submission("eve", CHAPTER).parent / "collected.json").write_text('{"late": false}')
    mark_all(course)
    with records.gradebook(course) as book:
        comment = book.find_comment("twice", "exercises", CHAPTER, "ann")
        comment.manual_comment = f"You wrote {NASTY} {LINKS[0]} {LINKS[-2]}"
        book.db.commit()


def test_a_browser_runs_and_loads_nothing_of_a_student_s(course: Course, reader: Reader) -> None:
    hostile(course)
    assert "3 pages" in call("feedback", "course", "1").output
    for student, told in (("ann", LINKS[0]), ("bob", "onerror"), ("eve", "not a notebook")):
        path = course.folder("feedback", student, CHAPTER) / "exercises.html"
        page = reader.open(path)
        assert told in page.inner_text("body")
        assert page.locator("script, img, iframe, [onerror]").count() == 0
        leads = page.eval_on_selector_all("a[href]", "all => all.map(a => a.getAttribute('href'))")
        assert leads or student != "ann", "only what is shown has exercises to lead to"
        assert all(address.startswith("#") for address in leads), leads
    assert [address for address in reader.requests if not address.startswith("file:")] == []
    assert reader.complaints == []


def test_the_page_itself_forbids_scripts_and_what_lies_elsewhere(
    course: Course, reader: Reader
) -> None:
    everyone(course)
    mark_all(course)
    call("feedback", "course", "1")
    added = "<script>document.title = 'run'</script><img src=http://elsewhere.test/seen.png>"
    page = reader.open("<p>")
    failed: list[tuple[str, str | None]] = []
    page.on("requestfailed", lambda request: failed.append((request.url, request.failure)))
    page.set_content(page_of(course, "bob").replace("</h4>", f"</h4>{added}", 1))
    assert page.title() != "run"
    assert failed == [("http://elsewhere.test/seen.png", "csp")]


def test_the_pages_for_marking_get_nothing_that_a_browser_runs_or_loads(course: Course) -> None:
    fine = "[paper](https://arxiv.org/abs/1706.03762), [above](#scores), [there](a/b.md), w[i](j)"
    notebook = answers(course, why=f"Ah {NASTY}")
    notebook.cells += [nbformat.v4.new_markdown_cell(f"{line} {NASTY}") for line in (*LINKS, fine)]
    hand_in(course, "ann", notebook)
    mark_all(course)
    cells = read(course.folder("autograded", "ann", CHAPTER) / "exercises.ipynb").cells
    ours = {cell.source for cell in answers(course).cells}
    texts = [c.source for c in cells if c.cell_type == "markdown" and c.source not in ours]
    shown = "".join(map(markdown2html, texts))
    assert not re.search(r"<(?:script|img)|<[^>]*onerror", shown)
    leads = re.findall(r'<a [^>]*href="([^"]*)"', shown)
    assert {"https://arxiv.org/abs/1706.03762", "#scores", "a/b.md"} <= set(leads)
    assert all(re.match(r"https?://|#|[\w./-]*$", address) for address in leads), leads

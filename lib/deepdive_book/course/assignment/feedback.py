"""A page of feedback for each student, by nbgrader's exporter, with nothing of what is hidden.

It shows what the student wrote, the points of each check and the message of each that failed,
comments and marks given by hand. A message or a comment that quotes a hidden test or a solution is
withheld. What anybody but the course wrote is shown as text: no mark-up of it, and no script, link
or image, reaches the page, and the page itself forbids the browser to load anything.
"""

import html
import logging
import re
from pathlib import Path
from typing import Any

from deepdive_book.course.assignment import atomic_write, marking, records
from deepdive_book.course.assignment.course import NOTEBOOK, Course, literal, read
from deepdive_book.course.assignment.errors import AssignmentError
from deepdive_book.course.assignment.forms import released
from deepdive_book.course.assignment.limited import Limits, limited
from deepdive_book.course.assignment.plan import grade_id
from deepdive_book.course.assignment.repair import writable
from deepdive_book.course.exercises import HIDDEN, SOLUTION, prose, tags

RENDERING = Limits(total_seconds=25, memory=1 << 30)  # of a page, which takes a second
MOST_SHOWN = 50_000  # characters of what a student wrote: to colour more takes minutes
WITHHELD = "Withheld: it quotes a line that students do not get. Ask your instructor."
_INDEX = re.compile(
    r'<a href="#([^"]+)">(Test cell|Coding free-response|Written response|Task)</a>'
)
_FORMULA = re.compile(r"(?<!\$)\$([^$]+)\$(?!\$)|\$\$([^$]+)\$\$")
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; img-src data:; font-src data:\">"
)
_STYLE = "<style>pre { white-space: pre-wrap }</style>"


def feedback(course: Course, chapter: str, student: str) -> tuple[Path, list[str]]:
    """Write a graded student's page, with the marks that the grade book holds now.

    Returns where it is, and the cells whose message or comment was withheld. What the student wrote
    is looked at and rendered in a process with limits.

    Raises:
        AssignmentError: not graded yet.
        LimitedError: this page takes too much, or cannot be rendered; none is written.
    """
    import nbconvert.exporters  # noqa: F401  # here, and not again in each process

    result = marking.result_of(course, student, chapter)
    if result is None:
        raise AssignmentError(f"{student} has no grade in {chapter} yet: run `grade` first")
    notebook = read(course.folder("autograded", student, chapter) / f"{NOTEBOOK}.ipynb")
    # A rubric is for who marks: it tells half of the answer.
    notebook.cells = [cell for cell in notebook.cells if marking.RUBRIC not in tags(cell)]
    source = literal(read(course.released(chapter)), course.secret, student)
    form = released(source)
    notebook, about = _with_marks(course, chapter, student, notebook)
    if result.refused:  # nothing in it is the student's: the reason, once
        notebook.cells = [prose("refused", f"Not graded. {result.refused}")]
    name = f"{chapter}, {student}"
    page, withheld = limited(RENDERING, rendered, notebook, about, source, form, name)
    target = course.folder("feedback", student, chapter) / f"{NOTEBOOK}.html"
    atomic_write.write(target, page.encode())
    return target, withheld


def rendered(notebook: Any, about: Any, source: Any, form: Any, name: str) -> tuple[str, list[str]]:
    """Return the page called `name` of a graded notebook, and the cells that withhold something."""
    withheld = withhold(notebook, source, form)
    _shorten(notebook, form)
    texts = _as_text(notebook, form)
    page = _finished(_page(notebook, about), name, form)
    return re.sub(r"<p>written-(\d+)</p>", lambda found: texts[int(found[1])], page), withheld


def withhold(notebook: Any, source: Any, form: Any) -> list[str]:
    """Take out what quotes a hidden test or a solution; return the ids of these cells.

    A line counts that stands whole in a message, in a comment or in a cell that students do not
    write in, and neither in the released form nor in what the student wrote.
    """
    theirs = [cell for cell in notebook.cells if writable(cell) or not grade_id(cell)]
    known = _lines("\n".join(cell.source for cell in [*form.cells, *theirs]))
    regions = (found for cell in source.cells for found in _regions(cell.source))
    secret = {line for region in regions for line in _lines(region)} - known

    def quotes(text: str) -> bool:
        # A message names the error first: `ValueError: the line`.
        return any(
            line in secret or any(line.endswith(f":{each}") for each in secret)
            for line in _lines(text) - known
        )

    found = []
    for cell in notebook.cells:
        hit = False
        for output in cell.get("outputs", []):
            if quotes(_said(output)):
                output.evalue, output.traceback, hit = WITHHELD, [WITHHELD], True
        if quotes(_comment(cell)):
            cell.metadata.nbgrader.comment, hit = WITHHELD, True
        if grade_id(cell) and not writable(cell) and quotes(cell.source):
            cell.source, hit = WITHHELD, True
        found += [grade_id(cell) or cell.id] if hit else []
    return found


def _regions(text: str) -> list[str]:
    return [found[0] for region in (HIDDEN, SOLUTION) for found in region.finditer(text)]


def _said(output: Any) -> str:
    return "\n".join([output.get("evalue", ""), *output.get("traceback", [])])


def _comment(cell: Any) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("comment") or "")


def _lines(text: str) -> set[str]:
    """Lines without blanks, those left away that are too short to tell anything."""
    lines = {re.sub(r"\s+", "", line) for line in text.splitlines()}
    return {line for line in lines if len(line) > 12}


def _shorten(notebook: Any, form: Any) -> None:
    """Cut what a student wrote where the page would be too much, and say so there."""
    ours = {cell.source for cell in form.cells}
    left = MOST_SHOWN
    for cell in notebook.cells:
        if cell.source not in ours:
            more = len(cell.source) - left
            if more > 0:
                cell.source = f"{cell.source[:left]}\n\n# ... and {more:,} characters more"
            left -= min(left, len(cell.source))


def _as_text(notebook: Any, form: Any) -> list[str]:
    """Put a sign in the place of each text that the course did not write; return the HTML of each.

    So no text of a student's is read as Markdown, nor by a template.
    """
    ours = {cell.source for cell in form.cells}
    texts: list[str] = []

    def sign(text: str) -> str:
        texts.append(f"<pre>{html.escape(text)}</pre>")
        return f"written-{len(texts) - 1}"

    for cell in notebook.cells:
        if cell.cell_type != "code" and cell.source not in ours:
            cell.source = sign(html.unescape(cell.source))  # `repair` had escaped it
        if _comment(cell):
            cell.metadata.nbgrader.comment = sign(_comment(cell))
    return texts


def _with_marks(course: Course, chapter: str, student: str, notebook: Any) -> tuple[Any, Any]:
    """The notebook with points and comments of the grade book, and what stands above them."""
    from nbgrader.preprocessors import GetGrades

    about = {
        "notebook": NOTEBOOK,
        "assignment": chapter,
        "student": student,
        "db_url": records.address(course.root),
    }
    marked, resources = GetGrades().preprocess(notebook, {"nbgrader": about})
    return marked, resources


def _page(notebook: Any, about: Any) -> str:
    from nbconvert.exporters import HTMLExporter
    from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
    from nbgrader import server_extensions
    from traitlets.config import Config

    new_exporter: Any = HTMLExporter  # it declares no types

    forms = Path(server_extensions.__file__).parent / "formgrader"
    settings = Config()
    settings.HTMLExporter.template_name = "feedback"
    settings.HTMLExporter.extra_template_basedirs = [str(forms / "templates")]
    settings.HTMLExporter.extra_template_paths = [
        str(forms / "static" / "node_modules" / "bootstrap" / "dist" / "css")
    ]
    for part in ("input_prompt", "output_prompt", "anchor_links"):
        settings.HTMLExporter[f"exclude_{part}"] = True
    exporter: Any = new_exporter(config=settings)
    exporter.log.setLevel(logging.ERROR)
    exporter.register_preprocessor(CSSHTMLHeaderPreprocessor, enabled=True)
    page, _ = exporter.from_notebook_node(notebook, resources=about)
    return str(page)


def _titles(form: Any) -> dict[str, str]:
    """Grade id of each cell -> the heading of its exercise."""
    titles, title = {}, ""
    for cell in form.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            title = cell.source.split("\n")[0].removeprefix("## ")
        if name := grade_id(cell):
            titles[name] = title
    return titles


def _entry(found: re.Match[str], titles: dict[str, str]) -> str:
    """A line of the page's index, with the exercise in place of nbgrader's word for the cell."""
    name, kind = found.groups()
    what = "check" if kind == "Test cell" else "answer"
    title = html.escape(titles.get(html.unescape(name), ""), quote=False)
    return f'<a href="#{name}">{title}: {what} <code>{name}</code></a>' if title else found[0]


def _finished(page: str, name: str, form: Any) -> str:
    """The page under its own name, without scripts, which would come from a network.

    The exercises' formulas become MathML; others stay as they were written.
    """
    from deepdive_book.kit.mathml import mathml

    page = re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL | re.IGNORECASE)
    page = page.replace(f"<title>{NOTEBOOK}<", f"<title>{name}<")
    page = _INDEX.sub(lambda found: _entry(found, _titles(form)), page)
    page = page.replace(f"<h4>{NOTEBOOK} (", f"<h4>{name} (").replace("<html>", '<html lang="en">')
    head, end, body = page.partition("</head>")
    head = re.sub(r"@font-face\s*{[^}]*}", "", head)  # they would come from files beside the page
    page = head.replace("<head>", f"<head>{_POLICY}", 1) + _STYLE + end + body
    text = "\n".join(cell.source for cell in form.cells if cell.cell_type == "markdown")
    for found in _FORMULA.finditer(text):
        inline, block = found.groups()
        shown = html.escape(found[0], quote=False)
        if shown in page:
            kind = "inline" if inline else "block"
            page = page.replace(shown, mathml(inline or block, kind))
    return page

"""A page of feedback for each student, by nbgrader's exporter, with nothing of what is hidden.

It shows what the student wrote, the points of each check and the message of each that failed,
comments and marks given by hand. The notebooks in `autograded/` hold no hidden test; before a page
is written it is searched for them once more.
"""

import html
import logging
import os
import re
from pathlib import Path
from typing import Any

from deepdive.course.assignment import marking, records
from deepdive.course.assignment.course import NOTEBOOK, Course, literal, read
from deepdive.course.assignment.errors import AssignmentError
from deepdive.course.assignment.forms import released
from deepdive.course.exercises import HIDDEN, SOLUTION, tags

_FORMULA = re.compile(r"(?<!\$)\$([^$]+)\$(?!\$)|\$\$([^$]+)\$\$")


def feedback(course: Course, chapter: str, student: str) -> Path:
    """Write a graded student's page, with the marks that the grade book holds now; return where.

    Raises:
        AssignmentError: not graded yet, or the page would show a hidden test or a solution.
    """
    if marking.result_of(course, student, chapter) is None:
        raise AssignmentError(f"{student} has no grade in {chapter} yet: `grade` comes first")
    notebook = read(course.folder("autograded", student, chapter) / f"{NOTEBOOK}.ipynb")
    # A rubric is for who marks: it tells half of the answer.
    notebook.cells = [cell for cell in notebook.cells if marking.RUBRIC not in tags(cell)]
    source = literal(read(course.released(chapter)), course.secret, student)
    page = _page(course, chapter, student, notebook, released(source))
    leaked = leaks(page, source, notebook)
    if leaked:
        raise AssignmentError(f"the feedback of {student} was not written: it shows {leaked[0]!r}")
    target = course.folder("feedback", student, chapter) / f"{NOTEBOOK}.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.{os.getpid()}")
    half.write_text(page, encoding="utf-8")
    os.replace(half, target)
    return target


def leaks(page: str, source: Any, notebook: Any) -> list[str]:
    """The lines of hidden tests and solutions that a page shows, and its student did not write."""
    known = _lines("\n".join(cell.source for cell in [*released(source).cells, *notebook.cells]))
    secret: dict[str, None] = {}
    for cell in source.cells:
        for region in (HIDDEN, SOLUTION):
            for found in region.finditer(cell.source):
                secret |= dict.fromkeys(sorted(_lines(found[0]) - known))
    shown = _squeezed(html.unescape(re.sub(r"<[^>]*>", "", page)))
    return [line for line in secret if line in shown]


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _lines(text: str) -> set[str]:
    """Lines without blanks, those left away that are too short to tell anything."""
    lines = {_squeezed(line) for line in text.splitlines()}
    return {line for line in lines if len(line) > 12}


def _page(course: Course, chapter: str, student: str, notebook: Any, form: Any) -> str:
    from nbconvert.exporters import HTMLExporter
    from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
    from nbgrader import server_extensions
    from nbgrader.preprocessors import GetGrades
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
    for step in (GetGrades, CSSHTMLHeaderPreprocessor):
        exporter.register_preprocessor(step, enabled=True)
    about = {
        "notebook": NOTEBOOK,
        "assignment": chapter,
        "student": student,
        "db_url": records.address(course.root),
    }
    page, _ = exporter.from_notebook_node(notebook, resources={"nbgrader": about})
    return _finished(str(page), f"{chapter}, {student}", form)


def _finished(page: str, name: str, form: Any) -> str:
    """The page under its own name, without scripts, which would come from a network.

    The exercises' formulas become MathML; others stay as they were written, for the converter
    would let a student's mark-up through.
    """
    from deepdive.page.mathml import mathml

    page = re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL | re.IGNORECASE)
    page = page.replace(f"<title>{NOTEBOOK}<", f"<title>{name}<")
    page = page.replace(f"<h4>{NOTEBOOK} (", f"<h4>{name} (").replace("<html>", '<html lang="en">')
    page = page.replace("</head>", "<style>pre { white-space: pre-wrap }</style></head>", 1)
    text = "\n".join(cell.source for cell in form.cells if cell.cell_type == "markdown")
    for found in _FORMULA.finditer(text):
        inline, block = found.groups()
        shown = html.escape(found[0], quote=False)
        if shown in page:
            kind = "inline" if inline else "block"
            page = page.replace(shown, mathml(inline or block, kind))
    return page

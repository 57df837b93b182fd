"""A file that is a notebook is read as one, however its editor wrote it."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest
from classroom import CHAPTER, THRICE, TWICE, answers, hand_in

from deepdive_book.course.assignment import marking
from deepdive_book.course.assignment.course import Course


@pytest.mark.parametrize(
    ("mark", "metadata"),
    [
        ("\ufeff", {}),
        ("", {"kernelspec": None}),
        ("", {"kernelspec": {"name": None, "language": None}, "language_info": None}),
        ("", {"kernelspec": "python3", "language_info": ["python"]}),
    ],
)
def test_a_notebook_is_read_however_its_editor_wrote_it(
    course: Course, mark: str, metadata: Any
) -> None:
    notebook = answers(course, twice=TWICE, thrice=THRICE)
    hand_in(course, "ann", notebook)
    text = json.dumps(json.loads(nbformat.writes(notebook)) | {"metadata": metadata})
    course.submission("ann", CHAPTER).write_text(mark + text, encoding="utf-8")
    (result,) = marking.mark(course, CHAPTER, ["ann"], jobs=1)
    assert (result.refused, result.points) == ("", 6.0)

"""A file that is a notebook is read as one, however its editor wrote it."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest
from classroom import CHAPTER, THRICE, TWICE, answers, hand_in
from fault import fault

from deepdive.course.assignment import marking
from deepdive.course.assignment.course import Course


@fault(
    "An editor writes a notebook in its own way",
    made="a byte order mark before the text; kernelspec, language_info, metadata null or a word",
    happens="it is read as any other",
    kept="all points",
)
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

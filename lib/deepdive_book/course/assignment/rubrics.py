"""Rubrics: what an answer graded by hand must have for all, some or none of its points.

A cell tagged `rubric`, which students do not get, names the answer it is for:

    # %% [markdown] tags=["rubric"] exercise="square-why"
    # - **3 points**: the numbers that were measured, and a cause that fits them.
    # - **1 point**: one of the two.
    # - **0 points**: neither.
"""

import re
from typing import Any

from deepdive_book.course.exercises import grading, is_manual, tags
from deepdive_book.site.pages import PageError

LEVEL = re.compile(r"^- \*\*(\d+) points?\*\*: (.+?)(?=^- |\Z)", re.MULTILINE | re.DOTALL)
LEVELS = 3


def rubrics(notebook: Any) -> dict[str, list[tuple[int, str]]]:
    """Return by grade id the levels of each answer graded by hand: points and for what, best first.

    Raises PageError for an answer whose rubric has not three levels, falling from all its points
    to 0.
    """
    texts = {c.metadata["exercise"]: c.source for c in notebook.cells if "rubric" in tags(c)}
    by_answer = {}
    for given in (grading(cell) for cell in notebook.cells if is_manual(cell)):
        name, best = given["grade_id"], given["points"]
        levels = LEVEL.findall(texts.get(name, ""))
        by_answer[name] = [(int(points), " ".join(words.split())) for points, words in levels]
        points = [level for level, _ in by_answer[name]]
        if len(points) != LEVELS or points != sorted({best, *points[1:-1], 0}, reverse=True):
            raise PageError(
                f"{name} needs a rubric of {LEVELS} lines, as '- **{best} points**: ...', falling "
                f"to 0; its points are {points}"
            )
    return by_answer

"""The instructor's form of a chapter's exercises: all there is, and how each check answers."""

from copy import deepcopy
from typing import Any

from deepdive_book.course.exercises import (
    HIDDEN,
    Part,
    fenced,
    grading,
    is_check,
    is_manual,
    parts,
    prose,
)
from deepdive_book.course.trials import trials


def instructor(notebook: Any) -> Any:
    """Return the form with all there is, and what each check says to each wrong answer.

    Takes exercises without offers (`deepdive_book.course.assignment.variants.standard`); runs them,
    and each wrong answer against the checks of its exercise.
    """
    form = deepcopy(notebook)
    results = trials(form)
    first, *exercises = parts(form)
    title, *rest = first.cells
    form.cells = [title, prose("instructor-table", _table(exercises)), *rest]
    for part in exercises:
        for number, cell in enumerate(part.tagged("hint"), start=1):
            cell.source = f"**Hint {number}.** {cell.source}"
        for cell in part.tagged("rubric"):
            cell.source = f"**Rubric of `{cell.metadata['exercise']}`.** {cell.source}"
        for number, cell in enumerate(part.tagged("wrong-answer"), start=1):
            lines = [f"**Wrong answer {number}**, to `{cell.metadata['exercise']}`", fenced(cell)]
            lines += [trial.markdown() for trial in results[cell.id]]
            part.cells[part.cells.index(cell)] = prose(
                f"exercise-{part.number}-wrong-{number}", "\n\n".join(lines)
            )
        for cell in part.cells:
            if named := _named(cell):
                form.cells.append(prose(f"{cell.id}-name", named))
            form.cells.append(cell)
    return form


def _table(exercises: list[Part]) -> str:
    """What the exercises ask, how long they take, and their points, check by check."""
    lines = ["| | exercise | skill | min | difficulty | book | points | of these |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    every = 0
    by_hand = 0
    for part in exercises:
        marked = {c.id: grading(c)["points"] for c in part.cells if "points" in grading(c)}
        by_hand += sum(grading(cell)["points"] for cell in part.cells if is_manual(cell))
        every += sum(marked.values())
        lines.append(
            f"| {part.number} | {part.title} | {part.skill} | {part.minutes} | {part.difficulty} "
            f"| {part.book} | {sum(marked.values())} "
            f"| {', '.join(f'`{name}` {points}' for name, points in marked.items())} |"
        )
    minutes = sum(part.minutes for part in exercises)
    return "\n".join(
        [
            "## For instructors",
            "",
            f"{len(exercises)} exercises, {minutes} minutes, {every} points, {by_hand} of them "
            "marked by hand. Solutions and hidden tests stand here: do not pass this form on.",
            "",
            *lines,
        ]
    )


def _named(cell: Any) -> str:
    """What stands above a graded cell in the instructor's form."""
    given = grading(cell)
    points = f"{given.get('points')} point{'s' * (given.get('points') != 1)}"
    if is_manual(cell):
        return f"**Answer `{cell.id}`, {points}, marked by hand**, and what is expected:"
    if is_check(cell):
        hidden = HIDDEN.search(cell.source)
        marked = "; students do not get what stands between the markers" if hidden else ""
        return f"**Check `{cell.id}`, {points}**{marked}:"
    return "**Solution**, between the markers:" if given.get("solution") else ""

"""What the checks of an exercise say to its solution and to its wrong answers, by running them."""

import io
import traceback
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from deepdive_book.course.exercises import HIDDEN, Part, grading, is_check, parts
from deepdive_book.site.pages import PageError


@dataclass(frozen=True)
class Trial:
    """What one check said to one answer.

    Attributes:
        check: the check's grade id.
        message: what it said, or nothing where it passed.
        hidden: whether only its hidden tests reject the answer, which a student does not see.
        kind: the name of the error.
    """

    check: str
    message: str = ""
    hidden: bool = False
    kind: str = ""

    def markdown(self) -> str:
        """This as Markdown."""
        if not self.message:
            return f"`{self.check}` lets it pass."
        who = "rejects it by its hidden tests alone" if self.hidden else "says"
        return f"`{self.check}` {who}:\n\n```text\n{self.message}\n```"


def run(source: str, name: str, names: dict[str, Any]) -> Trial:
    """Run the text of a cell in `names`; what it printed is lost."""
    try:
        with redirect_stdout(io.StringIO()):
            exec(compile(source, name, "exec"), names)
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == name]
        line = source.splitlines()[(frames[-1].lineno or 1) - 1].strip() if frames else ""
        kind = type(error).__name__
        message = str(error) if isinstance(error, AssertionError) else f"{kind}: {error}"
        return Trial(name, message or line, kind=kind)
    return Trial(name)


def tried(part: Part, names: dict[str, Any], wrong: Any = None) -> list[Trial]:
    """Run an exercise and return what each check said.

    A wrong answer runs after the solution that it is for; then only the checks of that solution
    count, those between it and the next solution.

    Raises PageError where a cell that is no check fails.
    """
    names = dict(names)
    results = []
    asked: list[str] = []  # the solutions that the next check is for
    checked = False
    for cell in part.shown:
        if cell.cell_type != "code":
            continue
        if is_check(cell):
            checked = True
            shown = HIDDEN.sub("", cell.source)
            trial = run(shown, cell.id, names)
            if hidden := not trial.message and shown != cell.source:
                trial = run(cell.source, cell.id, names)
            if wrong is None or wrong.metadata["exercise"] in asked:
                results.append(replace(trial, hidden=hidden and bool(trial.message)))
            continue
        if grading(cell).get("solution"):
            asked = [cell.id] if checked else [*asked, cell.id]
            checked = False
        sources = [cell.source]
        if wrong is not None and wrong.metadata["exercise"] == cell.id:
            sources.append(wrong.source)
        for source in sources:
            if (done := run(source, cell.id, names)).message:
                raise PageError(f"{cell.id} fails: {done.message}")
    return results


def begun(notebook: Any) -> dict[str, Any]:
    """The names that stand before the first exercise."""
    names: dict[str, Any] = {}
    for cell in parts(notebook)[0].shown:
        if cell.cell_type == "code" and (done := run(cell.source, cell.id, names)).message:
            raise PageError(f"{cell.id} fails: {done.message}")
    return names


def trials(notebook: Any) -> dict[str, list[Trial]]:
    """By the id of each wrong answer, what the checks of its exercise said to it.

    Raises PageError where a solution fails a check of its own.
    """
    names = begun(notebook)
    results = {}
    for part in parts(notebook)[1:]:
        for trial in tried(part, names):
            if trial.message:
                raise PageError(f"the solution fails {trial.check}: {trial.message}")
        for wrong in part.tagged("wrong-answer"):
            results[wrong.id] = tried(part, names, wrong)
    return results

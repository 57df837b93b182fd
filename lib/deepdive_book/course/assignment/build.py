"""The forms of exercises as files: the released one beside its source, the others in `build/`."""

import os
import re
from pathlib import Path
from typing import Any

from deepdive_book.course.assignment.forms import released, self_study, solved
from deepdive_book.course.assignment.variants import standard
from deepdive_book.course.exercises import source
from deepdive_book.course.instructor import instructor
from deepdive_book.site.pages.source import write


def build(path: Path, root: Path) -> Path:
    """Write the released form beside its source, `exercises.ipynb`; return where."""
    target = path.with_suffix(".ipynb")
    write(released(source(path, root)), target)
    return target


def build_all(path: Path, root: Path) -> list[Path]:
    """Write the other forms into `build/exercises/NN_name/`; return where."""
    notebook = standard(source(path, root))
    folder = root / "build" / "exercises" / path.parent.name
    targets = []
    for form in (solved, self_study, instructor):
        target = folder / f"{path.stem}_{form.__name__}.ipynb"
        write(_moved(form(notebook), path.parent, folder), target)
        targets.append(target)
    return targets


def _moved(notebook: Any, old: Path, new: Path) -> Any:
    """A notebook whose links lead from another folder to where they led."""
    way = os.path.relpath(old, new)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"\]\((?![a-z]+:|#|/)", f"]({way}/", cell.source)
    return notebook

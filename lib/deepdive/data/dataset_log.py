"""Log the names of the data sets that a page uses, in the file that DEEPDIVE_OPENED names.

The page runner sets it and writes the names into the notebook; otherwise nothing is logged.
"""

import os
from collections.abc import Iterable
from pathlib import Path

SETTING = "DEEPDIVE_OPENED"


def note(names: Iterable[str]) -> None:
    """Append the names of data sets to the log, if DEEPDIVE_OPENED names a file."""
    if path := os.environ.get(SETTING):
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in names)


def noted(path: Path) -> list[str]:
    """Return the distinct names in a log file, sorted; an empty list if there is no file."""
    return sorted(set(path.read_text("utf-8").split())) if path.is_file() else []

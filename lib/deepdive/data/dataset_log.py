"""Which data sets a page read: their names, noted in the file that DEEPDIVE_OPENED names.

The runner of pages sets it and writes the names into the notebook; elsewhere nothing is noted.
"""

import os
from collections.abc import Iterable
from pathlib import Path

SETTING = "DEEPDIVE_OPENED"


def note(names: Iterable[str]) -> None:
    """Add the names of data sets that were read, if DEEPDIVE_OPENED names a file."""
    if path := os.environ.get(SETTING):
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in names)


def noted(path: Path) -> list[str]:
    """Return the names in a file of `note`, each once, sorted; none where there is no file."""
    return sorted(set(path.read_text("utf-8").split())) if path.is_file() else []

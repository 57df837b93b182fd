"""Opens what a student handed in: a notebook, or `RefusedError` says why it is none.

The grader itself takes a file's text alone (`text_of`), from plain files that are not too large.
What parses it (`parsed`, `sound`) runs in a process with limits (`reader`).
"""

import json
import os
import stat
from pathlib import Path
from typing import Any

from deepdive_book.course.assignment.plan import RefusedError

LARGEST = 20_000_000  # bytes of a notebook
MOST_CELLS = 1000
LONGEST_CODE = 200_000  # characters of one cell of code
DEEPEST = 50  # levels of nesting; an output of JupyterLab's has about ten


def parsed(text: str) -> Any:
    """Return the notebook of version 4 that a text holds, without outputs. Raises RefusedError."""
    import nbformat

    reader: Any = nbformat  # it declares no types
    try:
        read = json.loads(text)
        _drop_outputs(read)
        _bounded(read)
        return reader.reads(json.dumps(read), as_version=4)
    except (RefusedError, MemoryError):
        raise
    except Exception as error:  # whatever a file that is no notebook makes of the reader
        reason = " ".join(str(error).split())[:200]
        raise RefusedError(f"The file is not a notebook: {reason}") from error


def _drop_outputs(read: Any) -> None:
    """Take away what nobody grades and what could be anything, before anything looks at it."""
    cells = read.get("cells") if isinstance(read, dict) else None
    for cell in cells if isinstance(cells, list) else []:
        if isinstance(cell, dict):
            cell.pop("attachments", None)
            if cell.get("cell_type") == "code":
                cell |= {"outputs": [], "execution_count": None}


def sound(submission: Any) -> Any:
    """Return a notebook if it is one for Python whose cells have text. Raises RefusedError."""
    try:
        metadata = _dict(submission.get("metadata"))
        kernel, info = _dict(metadata.get("kernelspec")), _dict(metadata.get("language_info"))
        language = str(kernel.get("language") or info.get("name") or "python")
        name = str(kernel.get("name", "python3"))
        sound = all(
            isinstance(cell.get("source"), str)
            and isinstance(cell.get("metadata"), dict)
            and isinstance(cell.get("id", ""), str)
            for cell in submission["cells"]
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise RefusedError("The file is not a notebook: it has no cells") from error
    if language.lower() not in ("python", "ipython"):
        shown = f"{name[:50]!r} ({language[:50]})"
        raise RefusedError(f"The notebook's kernel is {shown}; Python is needed")
    if not sound:
        raise RefusedError("The file is not a notebook: a cell has no text")
    for cell in submission["cells"]:
        if cell.get("cell_type") == "code" and len(cell["source"]) > LONGEST_CODE:
            raise RefusedError(f"A cell has more than {LONGEST_CODE:,} characters of code")
    return submission


def _dict(given: Any) -> dict[str, Any]:
    """What some editors leave out, write as null, or fill with something else."""
    return given if isinstance(given, dict) else {}


def text_of(path: Path) -> str:
    """The text of a plain file. A link would show another's work, a pipe never ends.

    Raises RefusedError.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise RefusedError("The file is not a plain file")
            data = file.read(LARGEST + 1)
    except OSError as error:
        if path.is_symlink():
            raise RefusedError("The file is a link") from error
        raise RefusedError(f"The file cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise RefusedError(f"The file is larger than {LARGEST // 10**6} MB")
    try:
        return data.decode("utf-8-sig")  # some editors put a mark before it
    except UnicodeDecodeError as error:
        raise RefusedError("The file is not a notebook: it is not UTF-8") from error


def _bounded(read: Any) -> None:
    """Refuse what a notebook never needs and what no file can hold. Raises RefusedError."""
    cells = read.get("cells") if isinstance(read, dict) else None
    if isinstance(cells, list) and len(cells) > MOST_CELLS:
        raise RefusedError(f"The notebook has more than {MOST_CELLS:,} cells")
    level: list[Any] = [read]
    for _ in range(DEEPEST):
        lists = [part for part in level if isinstance(part, list)]
        dicts = [part for part in level if isinstance(part, dict)]
        texts = [part for part in level if isinstance(part, str)]
        texts += [key for part in dicts for key in part]
        try:
            "".join(texts).encode()
        except UnicodeEncodeError as error:
            raise RefusedError("The notebook's text holds half a character") from error
        level = [x for part in lists for x in part] + [x for d in dicts for x in d.values()]
        if not level:
            return
    raise RefusedError(f"The notebook is nested deeper than {DEEPEST} levels")

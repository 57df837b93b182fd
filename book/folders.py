"""Folders that the builder writes: known again by a list in them, so that only those are emptied.

The list names files and folders by their paths; what it does not name is somebody else's.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

LIST = ".made-by-book-build"


class FolderError(Exception):
    """A folder that holds something of others."""


def sign(folder: Path, made: Iterable[str]) -> None:
    """Write into `folder` what in it is ours."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LIST).write_text("".join(f"{name}\n" for name in made), "utf-8")


def files(folder: Path) -> list[str]:
    """All files in a folder, by their paths in it."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path.relative_to(folder).as_posix() for path in found)


def check_ours(folder: Path) -> None:
    """Raise FolderError unless the folder is absent or empty, or holds only what its list names."""
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"--out: {folder} is a file, expected a folder: choose another")
    ours = _listed(folder)
    for name in files(folder):
        if ours.isdisjoint({name, *map(str, Path(name).parents)}):
            raise FolderError(
                f"--out: {folder} holds {name}, which this program did not write and would not "
                "remove: move it away, or choose another folder"
            )


def remove(folder: Path) -> None:
    """Remove a folder of ours, its list last: who is stopped in between leaves it known as ours."""
    for name in sorted(_listed(folder) - {LIST}):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    if folder.is_dir():
        shutil.rmtree(folder)


def _listed(folder: Path) -> set[str]:
    try:
        return {*(folder / LIST).read_text("utf-8").splitlines(), LIST}
    except FileNotFoundError:
        return {LIST}

"""A file of weights inside a package: found, and held to its sha256 before anything is read."""

import hashlib
from importlib.util import find_spec
from pathlib import Path


def folder_of(package: str) -> Path | None:
    """Return the folder of an installed package, by its name on the index; None without it."""
    found = find_spec(package.replace("-", "_"))
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


def check_file(file: Path, sha256: str, mend: str) -> None:
    """Raise ValueError, which says how to `mend` it, unless `file` is there, byte by byte."""
    if not file.is_file():
        raise ValueError(f"{file} is missing: {mend}")
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if digest != sha256:
        raise ValueError(f"{file} has sha256 {digest}, expected {sha256}: {mend}")

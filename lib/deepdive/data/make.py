"""Build a registered file from its public parts: download, apply the recipe, verify, rename."""

import gzip
import hashlib
import os
from pathlib import Path

from deepdive.data.check import refusal
from deepdive.data.download import download
from deepdive.data.errors import DataError, DataRefused, DataUnavailable
from deepdive.data.parts import Parts
from deepdive.data.recipes import RECIPES
from deepdive.data.registry import DataFile, Dataset, Part


def make(data: Dataset, entry: DataFile, target: Path, *, progress: bool = True) -> None:
    """Build the file `entry` at `target`. The caller holds the lock of the target's folder.

    Parts are kept in `.source/` next to the target until all files that need them are built. Raises
    DataUnavailable if a part is not available or no recipe is registered, DataRefused if a part,
    or the recipe's result, is not the registered one.
    """
    if not entry.downloads:
        raise DataUnavailable(
            f"no public address has this exact file. {entry.by_hand} Rule: {data.made}"
        )
    source = target.parent / ".source"
    source.mkdir(parents=True, exist_ok=True)
    loose = {part.path: _part_path(source, part) for part in entry.parts}
    for part in entry.parts:
        path, size = loose[part.path], part.bytes
        download(part.address, path, sha256=part.sha256, limit=size, progress=progress)
    made = target.with_name(f".{target.name}.made")
    try:
        made.write_bytes(_content(entry, loose))
        reason = refusal(made, entry)
        if reason is not None:
            raise DataRefused(_another_version(data, entry, reason))
        os.replace(made, target)
    except DataRefused:
        for path in loose.values():
            path.unlink(missing_ok=True)
        raise
    finally:
        made.unlink(missing_ok=True)
    _drop_spent(data, entry, target.parent)


def _part_path(source: Path, part: Part) -> Path:
    digest = hashlib.sha256(part.address.encode()).hexdigest()[:8]
    return source / f"{digest}-{part.address.rpartition('/')[2]}"


def _content(entry: DataFile, loose: dict[str, Path]) -> bytes:
    try:
        content = RECIPES[entry.recipe](Parts(loose), *entry.arguments)
    except (DataError, OSError):
        raise
    except Exception as error:  # unexpected parts can make a recipe fail in any way
        raise DataRefused(
            f"{entry.file}: its parts are not as registered ({type(error).__name__}: {error})"
        ) from error
    packed = content.startswith(b"\x1f\x8b")
    return gzip.compress(content, mtime=0) if entry.file.endswith(".gz") and not packed else content


def _another_version(data: Dataset, entry: DataFile, reason: str) -> str:
    addresses = ", ".join(part.address for part in entry.parts[:3])
    more = f" and {len(entry.parts) - 3} more" if len(entry.parts) > 3 else ""
    return (
        f"{data.name}/{entry.file}, made from {addresses}{more}: refused, {reason}; "
        "the address gives another version now"
    )


def _drop_spent(data: Dataset, entry: DataFile, folder: Path) -> None:
    """Remove the parts that no remaining file needs."""
    waiting = [other for other in data.files if not (folder / other.file).exists()]
    needed = {part.address for other in waiting for part in other.parts}
    for part in entry.parts:
        if part.address not in needed:
            _part_path(folder / ".source", part).unlink(missing_ok=True)

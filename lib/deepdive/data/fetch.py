"""Find and verify a data set's files: in a mirror, in the cache, or at their public addresses."""

import os
import shutil
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from deepdive.data import dataset_log, storage_paths
from deepdive.data.check import refusal
from deepdive.data.download import download
from deepdive.data.errors import DataRefused, DataUnavailable
from deepdive.data.make import make
from deepdive.data.registry import DataFile, Dataset, get


def fetch(name: str, file: str | None = None, *, progress: bool = True) -> Path:
    """Return the verified path of a data set's file, or of a folder with all of its files.

    Searched in this order: the mirror (`storage_paths.mirror`), the cache, the public addresses; a
    mirror at an http address comes after the cache, and its files are cached. With `file=None` the
    folder is the mirror's if that has every file, otherwise the cache's.

    Raises DataRefused if a mirror's or a server's file is not the registered one, and
    DataUnavailable, which says what was tried and what to do, if a file cannot be obtained. A
    refused file in the cache is renamed to `.FILE.refused`, with a warning, and replaced.
    """
    data = get(name)
    if file is not None:
        return _one(data, data.file(file), progress)
    found = [_one(data, entry, progress) for entry in data.files]
    if len({path.parent for path in found}) > 1:  # some in the mirror, some in the cache
        for i, entry in enumerate(data.files):
            found[i] = _fill(data, entry, partial(_copy, found[i]))
    return found[0].parent


def where(name: str, file: str | None = None) -> Path | None:
    """Return where `fetch` would find the verified file (or folder of all files), offline.

    None if it would have to download. Warns of an existing file that is refused.
    """
    data = get(name)
    entries = data.files if file is None else (data.file(file),)
    for folder in _folders(data):
        if all(_usable(folder / entry.file, entry) for entry in entries):
            return folder if file is None else folder / file
    return None


def verify(name: str) -> list[tuple[str, bool, str]]:
    """Return (file, whether it is the registered one, what was found), rehashing all files."""
    found = []
    for entry in get(name).files:
        paths = [folder / entry.file for folder in _folders(get(name))]
        path = next(filter(os.path.exists, paths), None)
        if path is None:
            found.append((entry.file, False, f"not here; looked at {', '.join(map(str, paths))}"))
        else:
            reason = refusal(path, entry)
            found.append((entry.file, reason is None, f"{path}: {reason or 'as registered'}"))
    return found


def _folders(data: Dataset) -> list[Path]:
    """Return the data set's local folders in search order: the mirror's, the cache's."""
    mirror = storage_paths.mirror()
    return [root / data.name for root in (mirror, storage_paths.cache()) if isinstance(root, Path)]


def _usable(path: Path, entry: DataFile) -> bool:
    if not os.path.exists(path):
        return False
    if reason := refusal(path, entry, remembered=True):
        warnings.warn(f"{path}: refused, {reason}", stacklevel=4)
    return reason is None


def _one(data: Dataset, entry: DataFile, progress: bool) -> Path:
    """Return the file from the first location that has it."""
    tried = []
    *mirrors, cached = (folder / entry.file for folder in _folders(data))
    for path in mirrors:
        if not os.path.exists(path):
            tried.append(f"mirror: no {path}")
        elif reason := refusal(path, entry, remembered=True):
            raise DataRefused(
                f"{path}: refused, {reason}. Replace it in the mirror, or point "
                f"{storage_paths.MIRROR} elsewhere (empty for no mirror)"
            )
        else:
            dataset_log.note([data.name])
            return path
    if not os.path.exists(cached) or refusal(cached, entry, remembered=True):
        if not storage_paths.mirror():
            tried.append(f"mirror: none ({storage_paths.MIRROR})")
        tried.append(f"cache: no {cached}")
        _fill(data, entry, partial(_bring, data, entry, tried, progress))
    dataset_log.note([data.name])
    return cached


def _fill(data: Dataset, entry: DataFile, bring: Callable[[Path], None]) -> Path:
    """Return the path of the file in the cache; `bring(path)` puts it there if it is missing."""
    path = storage_paths.cache() / data.name / entry.file
    with storage_paths.locked(path.parent):
        # Checked again: another process may have added it while this one waited.
        if os.path.exists(path) and (reason := refusal(path, entry, remembered=True)):
            aside = path.with_name(f".{path.name}.refused")
            os.replace(path, aside)
            message = f"{path}: refused, {reason}; moved to {aside.name}, a new one is fetched"
            warnings.warn(message, stacklevel=4)
        if not os.path.exists(path):
            bring(path)
    return path


def _bring(data: Dataset, entry: DataFile, tried: list[str], progress: bool, path: Path) -> None:
    """Download the file to `path`, from an http mirror or else from its public addresses."""
    mirror = storage_paths.mirror()
    if isinstance(mirror, str):
        address, check = f"{mirror}/{data.name}/{entry.file}", partial(refusal, entry=entry)
        login, limit = storage_paths.login(), entry.limit
        try:
            download(address, path, check=check, limit=limit, login=login, progress=progress)
            return
        except DataUnavailable as error:
            tried.append(f"mirror: {error}")
            message = f"the mirror did not give {data.name}/{entry.file}: {error}"
            warnings.warn(message, stacklevel=5)
    try:
        make(data, entry, path, progress=progress)
    except DataUnavailable as error:
        tried.append(f"download: {error}")
        raise DataUnavailable(_ways_out(data, entry, tried, path)) from error


def _ways_out(data: Dataset, entry: DataFile, tried: list[str], path: Path) -> str:
    online = "go online, or " if entry.downloads else ""
    lines = "".join(f"\n  {line}" for line in tried)
    return (
        f"{data.name}/{entry.file} is not available. Tried:{lines}\n"
        f"Two ways out:\n"
        f"  1. {online}set {storage_paths.MIRROR} to a folder or address laid out "
        f"<data set>/<file> that has it (or put it at {path})\n"
        f"  2. choose the ci profile, which works on generated data: in a notebook set "
        'PROFILE = "ci" in its first code cell and run it from the top, in a terminal set '
        "DEEPDIVE_PROFILE=ci"
    )


def _copy(found: Path, path: Path) -> None:
    """Copy `found` to `path` atomically."""
    copied = path.with_name(f".{path.name}.copy")
    try:
        shutil.copyfile(found, copied)
        os.replace(copied, path)
    finally:
        copied.unlink(missing_ok=True)

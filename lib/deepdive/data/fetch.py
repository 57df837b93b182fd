"""Find a data set's files: mirror, then cache, then download. Nothing unverified is handed out."""

from __future__ import annotations

import os
import shutil
import warnings
from functools import partial
from pathlib import Path

from deepdive.data import places
from deepdive.data.check import refusal, remembered_refusal
from deepdive.data.download import POLICY, Policy, download, replace
from deepdive.data.errors import DataRefused, DataUnavailable
from deepdive.data.make import make
from deepdive.data.registry import DataFile, Dataset, get


def fetch(
    name: str, file: str | None = None, *, progress: bool = True, policy: Policy = POLICY
) -> Path:
    """The path of a data set's file, or of a folder with all of its files, verified.

    Looked for in the mirror (`places.mirror`), then in the cache, then at the public addresses;
    a mirror that is an http address is asked after the cache, and fills it. With `file=None` the
    folder is the mirror's where that has every file, else the cache's.

    Raises DataRefused where a mirror's or a server's file is not the registered one, and
    DataUnavailable, which says what was tried and what to do, where a file cannot be had. A
    refused file in the cache is moved aside to `.FILE.refused`, with a warning, and replaced.
    """
    data = get(name)
    if file is not None:
        return _one(data, data.file(file), progress, policy)
    folder = _mirror_folder(data)
    if folder is not None and all((folder / entry.file).exists() for entry in data.files):
        for entry in data.files:
            _from_mirror(folder, entry)
        return folder
    for entry in data.files:
        _into_cache(data, entry, _one(data, entry, progress, policy))
    return _cache_folder(data)


def where(name: str, file: str | None = None) -> Path | None:
    """Where `fetch` would find the file (or the folder of all files), verified, with no network.

    None if it would have to download; a file that is there but refused is warned of by name.
    """
    data = get(name)
    entries = data.files if file is None else (data.file(file),)
    for folder in (_mirror_folder(data), _cache_folder(data)):
        if folder is not None and all(_usable(folder / entry.file, entry) for entry in entries):
            return folder if file is None else folder / file
    return None


def verify(name: str) -> list[tuple[str, bool, str]]:
    """(file, whether it is the registered one, what was found), hashing every byte again."""
    data = get(name)
    folders = [folder for folder in (_mirror_folder(data), _cache_folder(data)) if folder]
    found = []
    for entry in data.files:
        paths = [folder / entry.file for folder in folders]
        path = next((path for path in paths if path.exists()), None)
        if path is None:
            looked = ", ".join(str(path) for path in paths)
            found.append((entry.file, False, f"not here; looked at {looked}"))
        else:
            reason = refusal(path, entry)
            found.append((entry.file, reason is None, f"{path}: {reason or 'as registered'}"))
    return found


def _one(data: Dataset, entry: DataFile, progress: bool, policy: Policy) -> Path:
    folder = _mirror_folder(data)
    if folder is not None and (folder / entry.file).exists():
        return _from_mirror(folder, entry)
    target = _cache_folder(data) / entry.file
    if target.exists() and remembered_refusal(target, entry) is None:
        return target
    tried = ["mirror: none (DEEPDIVE_MIRROR)"] if places.mirror() is None else []
    if folder is not None:
        tried.append(f"mirror: no {folder / entry.file}")
    with places.locked(target.parent):
        # Looked at again: another process may have brought it while this one waited.
        _set_aside_if_refused(target, entry)
        if target.exists() or _download(data, entry, target, tried, progress, policy):
            return target
    raise DataUnavailable(_unavailable(data, entry, target, tried))


def _download(
    data: Dataset,
    entry: DataFile,
    target: Path,
    tried: list[str],
    progress: bool,
    policy: Policy,
) -> bool:
    """Bring the file to `target`, from an http mirror or from its parts; note what was tried."""
    tried.append(f"cache: no {target}")
    mirror = places.mirror()
    if isinstance(mirror, str):
        address = f"{mirror}/{data.name}/{entry.file}"
        check = partial(refusal, entry=entry)
        try:
            download(address, target, check, progress=progress, policy=policy)
            return True
        except DataUnavailable as error:
            tried.append(f"mirror: {error}")
            warnings.warn(
                f"the mirror did not give {data.name}/{entry.file}: {error}", stacklevel=4
            )
    if not entry.downloads:
        tried.append(
            f"download: no public address gives this very file. {entry.by_hand} Rule: {data.made}"
        )
        return False
    try:
        make(data, entry, target, progress=progress, policy=policy)
        return True
    except DataUnavailable as error:
        tried.append(f"download: {error}")
        return False


def _from_mirror(folder: Path, entry: DataFile) -> Path:
    path = folder / entry.file
    reason = remembered_refusal(path, entry)
    if reason is not None:
        raise DataRefused(
            f"{path}: refused, {reason}. Replace it in the mirror, or point {places.MIRROR} "
            "elsewhere (empty for no mirror)"
        )
    return path


def _into_cache(data: Dataset, entry: DataFile, found: Path) -> None:
    target = _cache_folder(data) / entry.file
    if found == target:
        return
    with places.locked(target.parent):
        copied = target.with_name(f".{target.name}.copy")
        try:
            shutil.copyfile(found, copied)
            replace(copied, target)
        finally:
            copied.unlink(missing_ok=True)


def _set_aside_if_refused(target: Path, entry: DataFile) -> None:
    reason = remembered_refusal(target, entry) if target.exists() else None
    if reason is not None:
        aside = target.with_name(f".{target.name}.refused")
        os.replace(target, aside)
        warnings.warn(
            f"{target}: refused, {reason}; moved to {aside.name}, a new one is fetched",
            stacklevel=4,
        )


def _usable(path: Path, entry: DataFile) -> bool:
    if not path.exists():
        return False
    reason = remembered_refusal(path, entry)
    if reason is not None:
        warnings.warn(f"{path}: refused, {reason}", stacklevel=4)
    return reason is None


def _mirror_folder(data: Dataset) -> Path | None:
    mirror = places.mirror()
    return mirror / data.name if isinstance(mirror, Path) else None


def _cache_folder(data: Dataset) -> Path:
    return places.cache() / data.name


def _unavailable(data: Dataset, entry: DataFile, target: Path, tried: list[str]) -> str:
    lines = "".join(f"\n  {line}" for line in tried)
    online = "go online, or " if entry.downloads else ""
    return (
        f"{data.name}/{entry.file} cannot be had. Tried:{lines}\n"
        f"Two ways out:\n"
        f"  1. {online}set {places.MIRROR} to a folder or address laid out <data set>/<file> "
        f"that has it (or put it at {target})\n"
        f"  2. choose the ci profile (DEEPDIVE_PROFILE=ci), which works on generated data"
    )

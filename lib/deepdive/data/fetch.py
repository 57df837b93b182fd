"""Find a data set's files in the stores, one after the other. Nothing unverified is handed out."""

import warnings
from functools import partial
from pathlib import Path

from deepdive.data import opened, places
from deepdive.data.check import refusal
from deepdive.data.download import POLICY, Policy
from deepdive.data.errors import DataUnavailable
from deepdive.data.registry import DataFile, Dataset, get
from deepdive.data.stores import Folder, Store, cache, copy, folders, stores


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
    data, asked = get(name), stores(progress, policy)
    if file is not None:
        return _first(asked, data, data.file(file))
    found = [_first(asked, data, entry) for entry in data.files]
    if len({path.parent for path in found}) > 1:  # some in the mirror, some in the cache
        for i, entry in enumerate(data.files):
            found[i] = cache().fill(data, entry, partial(copy, found[i]))
    return found[0].parent


def where(name: str, file: str | None = None) -> Path | None:
    """Where `fetch` would find the file (or the folder of all files), verified, with no network.

    None if it would have to download; a file that is there but refused is warned of by name.
    """
    data = get(name)
    entries = data.files if file is None else (data.file(file),)
    for folder in folders():
        if all(_usable(folder, data, entry) for entry in entries):
            path = folder.path(data, entries[0])
            return path.parent if file is None else path
    return None


def verify(name: str) -> list[tuple[str, bool, str]]:
    """(file, whether it is the registered one, what was found), hashing every byte again."""
    data = get(name)
    found = []
    for entry in data.files:
        path = next((f.path(data, entry) for f in folders() if f.has(data, entry)), None)
        if path is None:
            looked = ", ".join(str(folder.path(data, entry)) for folder in folders())
            found.append((entry.file, False, f"not here; looked at {looked}"))
        else:
            reason = refusal(path, entry)
            found.append((entry.file, reason is None, f"{path}: {reason or 'as registered'}"))
    return found


def _usable(folder: Folder, data: Dataset, entry: DataFile) -> bool:
    path, reason = folder.path(data, entry), folder.refused(data, entry)
    if reason is not None:
        warnings.warn(f"{path}: refused, {reason}", stacklevel=4)
    return reason is None and folder.has(data, entry)


def _first(asked: list[Store], data: Dataset, entry: DataFile) -> Path:
    """The file from the first store that has it."""
    tried = [] if places.mirror() else [f"\n  mirror: none ({places.MIRROR})"]
    for store in asked:
        try:
            path = store.get(data, entry)
            opened.note([data.name])
            return path
        except DataUnavailable as error:
            tried.append(f"\n  {store.name}: {error}")
    online = "go online, or " if entry.downloads else ""
    raise DataUnavailable(
        f"{data.name}/{entry.file} cannot be had. Tried:{''.join(tried)}\n"
        f"Two ways out:\n"
        f"  1. {online}set {places.MIRROR} to a folder or address laid out <data set>/<file> "
        f"that has it (or put it at {cache().path(data, entry)})\n"
        f"  2. choose the ci profile, which works on generated data: in a notebook set "
        'PROFILE = "ci" in its first code cell and run it from the top, in a terminal set '
        "DEEPDIVE_PROFILE=ci"
    )

"""The places that files come from, each with one `get`; `stores` gives them in order of asking."""

import os
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from deepdive.data import places
from deepdive.data.check import refusal, remembered_refusal
from deepdive.data.download import POLICY, Policy, download, replace
from deepdive.data.errors import DataRefused, DataUnavailable
from deepdive.data.make import make
from deepdive.data.registry import DataFile, Dataset


@dataclass(frozen=True)
class Folder:
    """A folder of this machine, laid out <data set>/<file>; a refused file in it counts as none.

    Every store has `name`, for messages, and `get`. That raises DataUnavailable where the store has
    not the file, and the next one is asked, or DataRefused where its file is not the registered
    one, and no other is asked.
    """

    name: str
    root: Path

    def path(self, data: Dataset, entry: DataFile) -> Path:
        """Where the file would lie."""
        return self.root / data.name / entry.file

    def has(self, data: Dataset, entry: DataFile) -> bool:
        """Whether a file lies here, be it one that cannot be read."""
        try:
            self.path(data, entry).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    def refused(self, data: Dataset, entry: DataFile) -> str | None:
        """Why the file that lies here is refused; None where it is good, or none lies here."""
        path = self.path(data, entry)
        return remembered_refusal(path, entry) if self.has(data, entry) else None

    def get(self, data: Dataset, entry: DataFile) -> Path:
        """The path of the file, verified."""
        path = self.path(data, entry)
        if not self.has(data, entry) or self.refused(data, entry):
            raise DataUnavailable(f"no {path}")
        return path


class Mirror(Folder):
    """A folder that someone else keeps: a refused file in it is theirs to replace."""

    def get(self, data: Dataset, entry: DataFile) -> Path:
        """The path of the file, verified."""
        if reason := self.refused(data, entry):
            raise DataRefused(
                f"{self.path(data, entry)}: refused, {reason}. Replace it in the mirror, or point "
                f"{places.MIRROR} elsewhere (empty for no mirror)"
            )
        return super().get(data, entry)


class Cache(Folder):
    """The folder that keeps what came from elsewhere."""

    def fill(self, data: Dataset, entry: DataFile, bring: Callable[[Path], None]) -> Path:
        """The path of the file, verified. Where it is not here yet, `bring(path)` puts it there.

        A refused file is moved aside, with a warning.
        """
        path = self.path(data, entry)
        with places.locked(path.parent), places.writing(path.parent):
            # Looked at again: another process may have brought it while this one waited.
            if reason := self.refused(data, entry):
                aside = path.with_name(f".{path.name}.refused")
                os.replace(path, aside)
                message = f"{path}: refused, {reason}; moved to {aside.name}, a new one is fetched"
                warnings.warn(message, stacklevel=5)
            if not self.has(data, entry):
                bring(path)
        return path


@dataclass(frozen=True)
class Remote:
    """A place on the network. `bring(data, entry, path)` downloads; the cache keeps what comes."""

    name: str
    bring: Callable[[Dataset, DataFile, Path], None]

    def get(self, data: Dataset, entry: DataFile) -> Path:
        """The path of the file in the cache, verified."""
        return cache().fill(data, entry, partial(self.bring, data, entry))


Store = Folder | Remote


def stores(progress: bool = True, policy: Policy = POLICY) -> list[Store]:
    """The stores in the order in which they are asked."""
    mirror = places.mirror()
    public = Remote("download", partial(make, progress=progress, policy=policy))
    if isinstance(mirror, str):  # on the network too: it fills the cache
        ask = partial(_from_mirror, mirror, progress=progress, policy=policy)
        return [cache(), Remote("mirror", ask), public]
    return [*([Mirror("mirror", mirror)] if mirror else []), cache(), public]


def folders() -> list[Folder]:
    """The stores on this machine, in the same order."""
    return [store for store in stores() if isinstance(store, Folder)]


def cache() -> Cache:
    """The cache, as a store."""
    return Cache("cache", places.cache())


def _from_mirror(
    mirror: str, data: Dataset, entry: DataFile, path: Path, *, progress: bool, policy: Policy
) -> None:
    address, check = f"{mirror}/{data.name}/{entry.file}", partial(refusal, entry=entry)
    try:
        download(
            address,
            path,
            check,
            limit=entry.limit,
            login=places.login(),
            progress=progress,
            policy=policy,
        )
    except DataUnavailable as error:
        message = f"the mirror did not give {data.name}/{entry.file}: {error}"
        warnings.warn(message, stacklevel=6)
        raise


def copy(found: Path, path: Path) -> None:
    """Put a copy of `found` at `path`, whole or not at all."""
    copied = path.with_name(f".{path.name}.copy")
    try:
        shutil.copyfile(found, copied)
        replace(copied, path)
    finally:
        copied.unlink(missing_ok=True)

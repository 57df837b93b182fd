"""Where data may lie: the mirror that a setting names, and the cache."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deepdive.data.errors import DataError

MIRROR = "DEEPDIVE_MIRROR"
CACHE = "DEEPDIVE_CACHE"


def mirror() -> Path | str | None:
    """The mirror: a folder, an http address without its last slash, or None.

    `DEEPDIVE_MIRROR` names it, laid out `<data set>/<file>`. Unset, the folder `../shared/data`
    beside a checkout of the repository is used where it exists; empty, there is no mirror.
    Raises DataError if the setting names neither a folder nor an http address.
    """
    setting = os.environ.get(MIRROR)
    if setting is None:
        return _sibling()
    if not setting.strip():
        return None
    if setting.startswith(("http://", "https://")):
        return setting.rstrip("/")
    folder = Path(setting).expanduser()
    if not folder.is_dir():
        raise DataError(
            f"{MIRROR}: {setting!r} is neither a folder that exists nor an http address; "
            f"name one laid out <data set>/<file>, or set {MIRROR}= for none"
        )
    return folder


def cache() -> Path:
    """The cache folder: `DEEPDIVE_CACHE`, else `deepdive` in the user's XDG cache folder."""
    setting = os.environ.get(CACHE)
    if setting:
        return Path(setting).expanduser()
    xdg = os.environ.get("XDG_CACHE_HOME")
    return (Path(xdg) if xdg else Path.home() / ".cache") / "deepdive"


def _sibling() -> Path | None:
    root = Path(__file__).resolve().parents[3]
    folder = root.parent / "shared" / "data"
    return folder if (root / "pyproject.toml").is_file() and folder.is_dir() else None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make `folder` and hold its lock; other processes wait. The lock ends with its holder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("a+b")
    except OSError as error:
        raise DataError(
            f"{CACHE}: cannot write in {folder} ({error.strerror}); "
            f"set {CACHE} to a folder that can be written"
        ) from error
    with file:
        _lock(file.fileno())
        try:
            yield
        finally:
            _unlock(file.fileno())


try:
    import fcntl

    def _lock(number: int) -> None:
        fcntl.flock(number, fcntl.LOCK_EX)

    def _unlock(number: int) -> None:
        fcntl.flock(number, fcntl.LOCK_UN)

except ImportError:  # Windows
    import msvcrt

    def _lock(number: int) -> None:
        os.lseek(number, 0, os.SEEK_SET)
        msvcrt.locking(number, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]

    def _unlock(number: int) -> None:
        os.lseek(number, 0, os.SEEK_SET)
        msvcrt.locking(number, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

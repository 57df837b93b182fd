"""Storage locations of data: the configured mirror, and the cache."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from platformdirs import user_cache_path

from deepdive.data.errors import DataError
from deepdive.locks import hold

MIRROR = "DEEPDIVE_MIRROR"
CACHE = "DEEPDIVE_CACHE"


def mirror() -> Path | str | None:
    """Return the mirror: a folder, an http address without trailing slash and password, or None.

    `DEEPDIVE_MIRROR` names it, with the layout `<data set>/<file>`. Unset, `../shared/data` next to
    a checkout of the repository is used if it exists; empty, there is no mirror.
    Raises DataError if the setting names neither a folder nor an http address.
    """
    setting = os.environ.get(MIRROR)
    if setting is None:
        return _sibling()
    if not setting.strip():
        return None
    if setting.startswith(("http://", "https://")):
        return _split(setting)[0]
    folder = Path(setting).expanduser()
    if not os.path.isdir(folder):
        raise DataError(
            f"{MIRROR}: {_public(setting)!r} is neither a folder that exists nor an http address; "
            f"name one laid out <data set>/<file>, or set {MIRROR}= for none"
        )
    return folder


def login() -> str | None:
    """Return the login (`name:password`) in the mirror's address, which is never shown."""
    return _split(os.environ[MIRROR])[1]


def _split(setting: str) -> tuple[str, str | None]:
    """Return an address without its login, and the login."""
    try:
        parts = urlsplit(setting)
        before, at, host = parts.netloc.rpartition("@")
        whole = bool(parts.hostname) and "@" not in setting.partition(parts.netloc)[2]
        _ = parts.port  # raises ValueError if it is not a number
    except ValueError:
        whole = False
    if not whole:
        raise DataError(
            f"{MIRROR}: {_public(setting)!r} is not an address; expected http://host/folder or "
            "http://name:password@host/folder, with / : @ # ? and % of a password written as %2F "
            "%3A %40 %23 %3F %25"
        ) from None
    address = f"{parts.scheme}://{host}{parts.path}".rstrip("/")
    return address, unquote(before) if at else None


def _public(setting: str) -> str:
    """Return what may be shown of an invalid address: nothing before its last @."""
    scheme, colon, rest = setting.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if colon else setting


def cache() -> Path:
    """Return the cache folder: `DEEPDIVE_CACHE`, or `deepdive` in the system's cache folder."""
    setting = os.environ.get(CACHE)
    return Path(setting).expanduser() if setting else user_cache_path("deepdive", appauthor=False)


def _sibling() -> Path | None:
    root = Path(__file__).resolve().parents[3]
    folder = root.parent / "shared" / "data"
    return folder if (root / "pyproject.toml").is_file() and folder.is_dir() else None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create the cache's `folder` and hold its lock; other processes wait, and say for whom.

    Write errors of the system are raised as DataError with the fix.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with hold(folder / ".lock", f"{CACHE}: {folder}", wait=True):
            yield
    except OSError as error:
        raise DataError(
            f"{CACHE}: cannot write in {folder} ({error.strerror or error}); make room there, or "
            f"set {CACHE} to a writable folder"
        ) from error

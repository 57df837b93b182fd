"""Download one file with pooch: verified, and moved into place atomically.

pooch writes into a temporary file in the target's folder, checks it, and only then renames it.
Interrupted downloads restart from the beginning.
"""

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from deepdive import __version__
from deepdive.data.errors import DataRefused, DataUnavailable
from deepdive.data.storage_paths import MIRROR

RETRIES = 2  # after a failure; pooch waits one second before the first, two before the second
TIMEOUT = 20.0  # seconds without a response
LIMIT = 1 << 30  # the maximum number of bytes if no size is registered
SHOWN_AFTER = 0.5  # seconds: downloads that fail or end at once show no bar
_CHUNK = 1 << 16
_HEADERS = {"User-Agent": f"deepdive/{__version__}", "Accept-Encoding": "identity"}

Check = Callable[[Path], str | None]


def download(
    address: str,
    target: Path,
    *,
    sha256: str | None = None,
    check: Check = lambda path: None,
    limit: int | None = None,
    login: str | None = None,
    progress: bool = True,
) -> None:
    """Download `address` to `target`, unless a file with this `sha256` already exists.

    `check(path)` returns the reason to refuse the file, or None. At most `limit` bytes are
    downloaded. `login` is a `name:password` for this host only, and appears in no message. The
    caller holds the lock of the target's folder. Raises DataUnavailable if the server cannot be
    reached or has no such file, DataRefused if its file is refused after all retries.
    """
    import pooch
    from requests import RequestException

    pooch.get_logger().setLevel("WARNING")  # its own lines say where a file is downloaded to
    for left in target.parent.glob("tmp*"):  # left by pooch in a process that was killed
        left.unlink()
    one = {target.name: sha256}
    server = pooch.create(
        target.parent, "", registry=one, urls={target.name: address}, retry_if_failed=RETRIES
    )
    write = partial(_write, check=check, limit=limit, login=login, progress=progress)
    try:
        server.fetch(target.name, downloader=write)
    except RequestException as error:
        raise DataUnavailable(f"{address}: {_printable(error)}") from error
    except ValueError as error:
        raise DataRefused(
            f"{address}: refused, {_printable(error)} Try again later, or set {MIRROR} to where "
            "the registered file is"
        ) from error


class _Limited:
    """A file that accepts at most `limit` bytes and shows the progress on `bar`.

    pooch's own progress bar would stay on the screen.
    """

    def __init__(self, file: BinaryIO, limit: int, bar: Any) -> None:
        self.file, self.limit, self.bar, self.flush = file, limit, bar, file.flush

    def write(self, content: bytes) -> None:
        if self.file.tell() + len(content) > self.limit:
            raise ValueError(f"more than the {self.limit:,} bytes expected")
        self.file.write(content)
        self.bar.update(len(content))


def _write(
    address: str,
    path: str,
    _: Any,
    *,
    check: Check,
    limit: int | None,
    login: str | None,
    progress: bool,
) -> None:
    """Download an address to a path, with the signature of a pooch downloader."""
    from pooch import HTTPDownloader

    user, _, password = (login or "").encode().partition(b":")
    auth = None if login is None else (user, password)
    get = HTTPDownloader(chunk_size=_CHUNK, auth=auth, timeout=TIMEOUT, headers=_HEADERS)
    with _bar(address.rpartition("/")[2], limit, progress) as bar, open(path, "wb") as file:
        get(address, _Limited(file, limit or LIMIT, bar), None)
    if reason := check(Path(path)):
        raise ValueError(reason)


def _bar(name: str, size: int | None, progress: bool) -> Any:
    """Return a progress bar on stderr, shown only in a terminal or notebook."""
    from tqdm import tqdm

    in_notebook = type(sys.stderr).__module__.startswith("ipykernel.")
    shown = progress and (in_notebook or sys.stderr.isatty())
    return tqdm(
        total=size, desc=name, unit="B", unit_scale=True, leave=False, delay=SHOWN_AFTER,
        disable=not shown,
    )  # fmt: skip


def _printable(error: Exception) -> str:
    """Return the error message as one line of printable characters: a server may control it."""
    return re.sub(r"[^\x20-\x7e\xa1-\xac\xae-\u024f]", "?", str(error))[:500]

"""Download one file with pooch: verified, in place whole or not at all.

pooch writes into a temporary file in the target's folder, checks it, and only then gives it its
name. What was cut off begins again.
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
TIMEOUT = 20.0  # seconds of silence
LIMIT = 1 << 30  # bytes of the largest file where no size is registered
SHOWN_AFTER = 0.5  # seconds: what fails or ends at once shows no bar
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
    """Bring `address` to `target`, unless a file of this `sha256` is there already.

    `check(path)` gives the reason to refuse the file, or None. No more than `limit` bytes are
    taken. `login` is a `name:password` for this host alone, and is in no message. The caller holds
    the lock of the target's folder. Raises DataUnavailable where the server cannot be reached or
    has no such file, DataRefused where what it serves is refused at the last try too.
    """
    import pooch
    from requests import RequestException

    pooch.get_logger().setLevel("WARNING")  # its own lines say where a file is downloaded to
    for left in target.parent.glob("tmp*"):  # by pooch in a process that was killed
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
    """A file that takes no more than `limit` bytes, and shows on `bar` how many came.

    pooch's own use of a bar leaves it on the screen.
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
    """Write what an address gives to a path, as pooch asks a downloader to."""
    from pooch import HTTPDownloader

    user, _, password = (login or "").encode().partition(b":")
    auth = None if login is None else (user, password)
    get = HTTPDownloader(chunk_size=_CHUNK, auth=auth, timeout=TIMEOUT, headers=_HEADERS)
    with _bar(address.rpartition("/")[2], limit, progress) as bar, open(path, "wb") as file:
        get(address, _Limited(file, limit or LIMIT, bar), None)
    if reason := check(Path(path)):
        raise ValueError(reason)


def _bar(name: str, size: int | None, progress: bool) -> Any:
    """A progress bar on stderr, shown on a terminal and in a notebook only."""
    from tqdm import tqdm

    in_notebook = type(sys.stderr).__module__.startswith("ipykernel.")
    shown = progress and (in_notebook or sys.stderr.isatty())
    return tqdm(
        total=size, desc=name, unit="B", unit_scale=True, leave=False, delay=SHOWN_AFTER,
        disable=not shown,
    )  # fmt: skip


def _printable(error: Exception) -> str:
    """What an error says, as one line of plain characters: a server may have written it."""
    return re.sub(r"[^\x20-\x7e\xa1-\xac\xae-\u024f]", "?", str(error))[:500]

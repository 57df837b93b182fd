"""Download one file over http: resumable, verified, in place whole or not at all.

What has arrived waits in `.NAME.part`, what the server said of it (ETag or date) in
`.NAME.part.json`. A later call asks for the rest (RFC 9110: Range, If-Range) and starts anew where
the server ignores ranges or the file has changed. Only a file that passes `check` gets its name.
"""

import json
import os
import re
import socket
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, cast

from deepdive import __version__
from deepdive.data.errors import DataRefused, DataUnavailable


@dataclass(frozen=True)
class Policy:
    """How patient a download is. `tries`: attempts in a row that bring less than `progress`
    bytes; before attempt k the wait is min(wait * 2**k, longest_wait) seconds; `timeout`: the
    longest silence, and for how long fewer than `slowest` bytes a second may come; `limit`: the
    largest file where no size is registered."""

    timeout: float = 20.0
    slowest: float = 64.0
    tries: int = 5
    wait: float = 0.5
    longest_wait: float = 8.0
    progress: int = 1 << 18
    limit: int = 1 << 30


POLICY = Policy()
SHOWN_AFTER = 0.5  # seconds: what fails or ends at once shows no bar
_FINAL = (400, 401, 403, 404, 405, 410, 451)


class _Drop(Exception):
    """The connection or the server failed in a way that may pass."""


def download(
    address: str,
    target: Path,
    check: Callable[[Path], str | None],
    *,
    size: int | None = None,
    limit: int | None = None,
    login: str | None = None,
    progress: bool = True,
    policy: Policy = POLICY,
) -> None:
    """Bring `address` to `target`. `check(path)` gives the reason to refuse the file, or None.

    No more is read than `size` bytes, where that is known, or else `limit`. `login` is a
    `name:password` for this host alone, and stands in no message. The caller holds the lock of
    `target`. Raises DataUnavailable where the server cannot be reached or has no such file,
    DataRefused where what it serves is refused twice, the second time from the first byte on.
    """
    if not address.startswith(("http://", "https://")):
        raise DataUnavailable(f"{address}: not an http address")
    bar = _bar(address.rpartition("/")[2], size) if progress else None
    part = _Part(target)
    request = _Request(address, login, size, size or limit or policy.limit)
    try:
        reason: str | None = ""
        for _ in range(2):
            _bring(request, part, bar, policy)
            reason = check(part.path)
            if reason is None:
                part.keep(target)
                return
            part.forget()
        raise DataRefused(f"{address}: refused, {reason}")
    except BaseException:
        if bar is not None:
            bar.leave = bar.n > 0  # how far it came, on a line that ends before the error begins
        raise
    finally:
        if bar is not None:
            bar.close()


@dataclass(frozen=True)
class _Request:
    """What is asked for, and how much of it is taken."""

    address: str
    login: str | None = field(repr=False)
    size: int | None
    limit: int

    def headers(self) -> dict[str, str]:
        """The headers for this host, which a redirection does not hand on."""
        if self.login is None:
            return {}
        return {"Authorization": "Basic " + b64encode(self.login.encode()).decode()}


class _Part:
    """The bytes that have arrived, and what the server said of the file they belong to."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(f".{target.name}.part")
        self.note = target.with_name(f".{target.name}.part.json")

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def noted(self, address: str) -> dict[str, Any] | None:
        """What the server at `address` said when these bytes came; None if they are not from it."""
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
            return note if note["address"] == address and "validator" in note else None
        except (OSError, ValueError, RecursionError, KeyError, TypeError):
            return None

    def begin(self, address: str, validator: str | None) -> None:
        """Start from the first byte, of the file as `validator` names it."""
        self.forget()
        note = json.dumps({"address": address, "validator": validator})
        self.note.write_text(note, encoding="utf-8")

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    def keep(self, target: Path) -> None:
        replace(self.path, target)
        self.note.unlink(missing_ok=True)


def replace(source: Path, target: Path) -> None:
    """Give `source` the name `target`, with its bytes on the disk first."""
    with source.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(source, target)


def _bring(request: _Request, part: _Part, bar: Any, policy: Policy) -> None:
    """Ask until the body has ended; give up after `tries` attempts without progress."""
    failures, furthest = 0, part.size()
    while part.size() != request.size:
        try:
            _once(request, part, bar, policy)
            return
        except _Drop as drop:
            # Progress is counted from the furthest byte ever, so that a server which lets us
            # start over again and again is given up too.
            forward = part.size() - furthest >= policy.progress
            failures = 1 if forward else failures + 1
            furthest = max(furthest, part.size())
            if failures >= policy.tries:
                message = f"{request.address}: {drop} ({failures} tries)"
                raise DataUnavailable(message) from drop
            time.sleep(min(policy.wait * 2 ** (failures - 1), policy.longest_wait))


def _once(request: _Request, part: _Part, bar: Any, policy: Policy) -> None:
    """Ask once. Returns when the body has ended, or is longer than the limit."""
    note = part.noted(request.address)
    if note is None or part.size() > request.limit:
        part.forget()
    have = part.size()
    headers = {"User-Agent": f"deepdive/{__version__}", "Accept-Encoding": "identity"}
    if have and note is not None:
        headers["Range"] = f"bytes={have}-"
        if note["validator"] is not None:
            headers["If-Range"] = note["validator"]
    with _open(request, headers, part, policy.timeout) as response:
        _receive(request, response, part, have, bar, policy)


def _proxy(address: str) -> str:
    """Name the proxy that an address is asked through, without its user and password, or "".

    A setting that was forgotten is a common reason why nothing can be reached.
    """
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    asked = urlsplit(address)
    proxy = getproxies().get(asked.scheme)
    if not proxy or proxy_bypass(asked.hostname or ""):
        return ""
    named = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    host = f"{named.scheme}://" * bool(named.scheme) + named.netloc.rpartition("@")[2]
    cannot = ", a kind that Python's downloads can't use" if "socks" in named.scheme else ""
    return f" through the proxy {host}{cannot}, which {asked.scheme.upper()}_PROXY sets"


def _open(request: _Request, headers: dict[str, str], part: _Part, timeout: float) -> HTTPResponse:
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    address = request.address
    asking = Request(address, headers=headers)
    for name, value in request.headers().items():
        asking.add_unredirected_header(name, value)
    try:
        return cast(HTTPResponse, urlopen(asking, timeout=timeout))
    except HTTPError as error:
        error.close()
        if error.code == 416:  # the file is shorter than what we have of it
            part.forget()
        if error.code in _FINAL:
            raise DataUnavailable(f"{address}: the server says {_said(error)}") from error
        raise _Drop(f"the server says {_said(error)}") from error
    except URLError as error:
        way = _proxy(address)
        if isinstance(error.reason, socket.gaierror):  # no network: waiting does not help
            raise DataUnavailable(f"{address}: no connection{way} ({_said(error)})") from error
        raise _Drop(f"no connection{way} ({_said(error)})") from error
    except ValueError as error:  # an address, or one that it leads to, is none
        raise DataUnavailable(f"{address}: leads to what is no address ({_said(error)})") from error
    except (OSError, HTTPException) as error:
        raise _broken(error) from error


def _said(error: Exception) -> str:
    """What an error says, as one line of plain characters: a server may have written it."""
    return re.sub(r"[^\x20-\x7e\xa1-\xac\xae-\u024f]", "?", str(error))[:200]


def _receive(
    request: _Request, response: HTTPResponse, part: _Part, have: int, bar: Any, policy: Policy
) -> None:
    """Write the body behind the `have` bytes already there, or anew where it is not their rest."""
    validator = _validator(response)
    first, total = _range(response)
    if response.status == 206:
        note = part.noted(request.address)
        if first != have or note is None or note["validator"] != validator:
            part.forget()
            raise _Drop("the file changed, or the server sent another range than was asked")
    else:
        have = 0
        part.begin(request.address, validator)
    if bar is not None:
        bar.total = total or bar.total
        bar.update(have - bar.n)
    began, since = time.monotonic(), have
    with part.path.open("ab") as file:
        while have <= request.limit and (piece := _read(response)):
            file.write(piece)
            file.flush()  # so that a killed process leaves all that has come
            have += len(piece)
            if bar is not None:
                bar.update(len(piece))
            if (waited := time.monotonic() - began) > policy.timeout:
                if have - since < policy.slowest * waited:
                    raise _Drop(f"only {have - since:,} bytes came in {waited:.0f} s")
                began, since = time.monotonic(), have
    if total is not None and have < min(total, request.limit):
        raise _Drop(f"the connection ended after {have:,} of {total:,} bytes")


def _read(response: HTTPResponse) -> bytes:
    # Only what the network does is caught here: a full disk is not a dropped connection.
    try:
        return response.read1(1 << 16)
    except (OSError, HTTPException) as error:
        raise _broken(error) from error


def _broken(error: Exception) -> _Drop:
    return _Drop(f"the connection broke ({type(error).__name__}: {_said(error)})")


def _validator(response: HTTPResponse) -> str | None:
    etag = response.headers.get("ETag", "")
    if etag.startswith('"'):
        return str(etag)
    date = response.headers.get("Last-Modified")
    return None if date is None else str(date)


def _range(response: HTTPResponse) -> tuple[int, int | None]:
    """First byte and full size that the headers claim; (0, None) where they say nothing."""
    if response.status == 206:
        content_range = response.headers.get("Content-Range", "").removeprefix("bytes ")
        span, _, total = content_range.partition("/")
        first = _number(span.partition("-")[0])
        return (-1, None) if first is None else (first, _number(total))
    return 0, _number(response.headers.get("Content-Length", ""))


def _number(text: str) -> int | None:
    """A number of bytes; None for what is none, such as a superscript or thousands of digits."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def _bar(name: str, size: int | None) -> Any:
    """A progress bar on stderr, shown after `SHOWN_AFTER` seconds; None in a file or a pipe, where
    the line that it draws again and again would stay.
    """
    in_notebook = type(sys.stderr).__module__.startswith("ipykernel.")
    if not in_notebook and not sys.stderr.isatty():
        return None
    from tqdm import tqdm

    return tqdm(
        total=size, desc=name, unit="B", unit_scale=True, leave=False, delay=SHOWN_AFTER
    )  # fmt: skip

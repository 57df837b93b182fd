"""Is a file the one that is registered?"""

import gzip
import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from deepdive.data.registry import DataFile

_CHUNK = 1 << 20
_SEEN: dict[tuple[str, str], tuple[int, int, str | None]] = {}


def refusal(path: Path, entry: DataFile) -> str | None:
    """Why `path` is not the file `entry`; None if it is. Always reads and hashes.

    A file is accepted by its size and sha256, or, for a `.gz`, by the size and sha256 of what it
    holds, as far as it decompresses whole. One that cannot be read is refused.
    """
    return _readable(_refusal, path, entry)


def remembered_refusal(path: Path, entry: DataFile) -> str | None:
    """`refusal`, hashing a file once a process as long as its size and time stay the same."""
    return _readable(_remembered, path, entry)


def _readable(
    look: Callable[[Path, DataFile], str | None], path: Path, entry: DataFile
) -> str | None:
    try:
        return look(path, entry)
    except OSError as error:
        return f"it cannot be read ({error.strerror or error})"


def _refusal(path: Path, entry: DataFile) -> str | None:
    size = path.stat().st_size
    digest = file_sha256(path) if size == entry.bytes else ""
    if digest == entry.sha256:
        return None
    if entry.content_sha256 is not None and entry.file.endswith(".gz"):
        inside = _content_refusal(path, entry)
        if inside is None:
            return None
    else:
        inside = ""
    if digest:
        reason = f"sha256 {digest}, expected {entry.sha256}"
    else:
        word = "truncated: " if size < entry.bytes else ""
        reason = f"{word}{size:,} bytes, expected {entry.bytes:,}"
    return f"{reason}; {inside}" if inside else reason


def _remembered(path: Path, entry: DataFile) -> str | None:
    state = path.stat()
    key = (str(path), entry.sha256)
    size_time = (state.st_size, state.st_mtime_ns)
    seen = _SEEN.get(key)
    if seen is None or seen[:2] != size_time:
        seen = _SEEN[key] = (*size_time, _refusal(path, entry))
    return seen[2]


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes, as hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content_refusal(path: Path, entry: DataFile) -> str | None:
    limit = entry.content_bytes or 0
    try:
        with gzip.open(path, "rb") as file:
            size, digest = _hash_up_to(file, limit)  # type: ignore[arg-type]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        return f"it does not decompress ({error})"
    if size > limit:
        return f"it holds more than the {limit:,} bytes expected"
    if (size, digest) != (limit, entry.content_sha256):
        return f"it holds {size:,} bytes of sha256 {digest}, expected {entry.content_sha256}"
    return None


def _hash_up_to(file: BinaryIO, limit: int) -> tuple[int, str]:
    """Size and sha256 of a stream; stops one chunk after `limit`, so that a bomb stays small."""
    digest, size = hashlib.sha256(), 0
    while size <= limit and (chunk := file.read(_CHUNK)):
        size += len(chunk)
        digest.update(chunk)
    return size, digest.hexdigest()

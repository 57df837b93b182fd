"""Verify a file against its registered size and sha256."""

import functools
import gzip
import hashlib
import zlib
from pathlib import Path
from typing import BinaryIO

from deepdive.data.registry import DataFile

_CHUNK = 1 << 20


def refusal(path: Path, entry: DataFile, remembered: bool = False) -> str | None:
    """Return why `path` is not the file `entry`; None if it is.

    A file is accepted by its size and sha256, or, for a `.gz`, by the size and sha256 of its
    content if it decompresses completely. An unreadable file is refused. It is read and hashed on
    every call, or, if `remembered`, once per process while its size and time stay the same.
    """
    try:
        if not remembered:
            return _refusal(path, entry)
        state = path.stat()
        return _remembered(path, entry, state.st_size, state.st_mtime_ns)
    except OSError as error:
        return f"it cannot be read ({error.strerror or error})"


@functools.cache
def _remembered(path: Path, entry: DataFile, size: int, time: int) -> str | None:
    return _refusal(path, entry)


def _refusal(path: Path, entry: DataFile) -> str | None:
    size, digest = path.stat().st_size, ""
    if size == entry.bytes:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    inside: str | None = ""
    if digest != entry.sha256 and entry.content_sha256 and entry.file.endswith(".gz"):
        inside = _content_refusal(path, entry)
    if digest == entry.sha256 or inside is None:
        return None
    if digest:
        reason = f"sha256 {digest}, expected {entry.sha256}"
    else:
        word = "truncated: " if size < entry.bytes else ""
        reason = f"{word}{size:,} bytes, expected {entry.bytes:,}"
    return f"{reason}; {inside}" if inside else reason


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
    """Return size and sha256 of a stream; stop one chunk after `limit` (decompression bombs)."""
    digest, size = hashlib.sha256(), 0
    while size <= limit and (chunk := file.read(_CHUNK)):
        size += len(chunk)
        digest.update(chunk)
    return size, digest.hexdigest()

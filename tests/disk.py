"""A disk that is full, and a file that may not be read, for whoever runs the tests, root too."""

from __future__ import annotations

import builtins
import errno
import io
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """No file of this process and its children grows beyond `size` bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def forbid(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """To open `path` fails, as without the right to read it."""
    opened = io.open

    def refusing(file: Any, *arguments: Any, **named: Any) -> Any:
        if file == path or file == str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(file, *arguments, **named)

    monkeypatch.setattr(io, "open", refusing)
    monkeypatch.setattr(builtins, "open", refusing)

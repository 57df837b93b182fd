"""The progress bar of a download: on a terminal it ends before an error begins, elsewhere there is
none.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import pty
import re
import struct
import sys
import termios
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from lying_server import Answer, LyingServer

from deepdive.data.download import download
from deepdive.data.errors import DataError, DataUnavailable

module = importlib.import_module("deepdive.data.download")
BODY = bytes(100_000)


def on_a_terminal(address: str, target: Path, refused: str = "") -> str:
    """What a download writes to a terminal of 100 columns, and then its error as a command does."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))  # lines, columns
    told: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while piece := os.read(ours, 1 << 16):
                told.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(its, "w") as terminal, contextlib.redirect_stderr(terminal):
        try:
            download(address, target, check=lambda path: refused or None, limit=len(BODY))
        except DataError as error:
            print(f"Error: {error}", file=terminal)
    reader.join(30)
    os.close(ours)
    return b"".join(told).decode()


def lines(told: str) -> list[str]:
    """What stays to be read on a terminal's lines: a return begins a line again, over the old."""
    shown = []
    for line in told.replace("\r\n", "\n").split("\n"):
        letters: list[str] = []
        for part in line.split("\r"):
            letters[: len(part)] = part
        shown.append("".join(letters).rstrip())
    return shown


def test_a_return_writes_over_a_line() -> None:
    assert lines("\rbody: 12%\r   dy: 40%\r\nError\n") == ["   dy: 40%", "Error", ""]


def test_a_file_that_is_missing_shows_no_bar(server: LyingServer, tmp_path: Path) -> None:
    address = server.say("body", Answer(status=404))
    told = on_a_terminal(address, tmp_path / "body")
    assert "%|" not in told
    assert lines(told)[0].startswith("Error: ")


def test_a_refused_file_ends_its_line_too(server: LyingServer, tmp_path: Path) -> None:
    address = server.say("body", Answer(BODY, pause=0.05))
    told = on_a_terminal(address, tmp_path / "body", refused="other bytes")
    assert "%|" in told
    assert [line.startswith("Error: ") for line in lines(told) if line] == [True]


def test_a_download_that_succeeds_leaves_no_bar(server: LyingServer, tmp_path: Path) -> None:
    address = server.say("body", Answer(BODY, pause=0.05))
    told = on_a_terminal(address, tmp_path / "body")
    assert "body: " in told  # it was shown
    assert [line for line in lines(told) if line] == []
    assert (tmp_path / "body").read_bytes() == BODY


@pytest.mark.parametrize("refused", ["", "other bytes"])
def test_a_pipe_gets_no_bar(
    server: LyingServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    refused: str,
) -> None:
    monkeypatch.setattr(module, "SHOWN_AFTER", 0.0)
    address = server.say("body", Answer(BODY, pause=0.01))
    check: Callable[[Path], str | None] = lambda path: refused or None  # noqa: E731
    try:
        download(address, tmp_path / "body", check=check)
    except DataError:
        assert refused
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("progress", [True, False])
def test_a_notebook_has_a_bar_unless_it_is_turned_off(
    server: LyingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, progress: bool
) -> None:
    """A kernel's stderr is no terminal, but draws a line again."""
    written: list[str] = []

    class OutStream:
        """What a kernel has in the place of stderr."""

        encoding = "utf-8"

        def write(self, text: str) -> int:
            written.append(text)
            return len(text)

        def flush(self) -> None:
            pass

        def isatty(self) -> bool:
            return False

    OutStream.__module__ = "ipykernel.iostream"
    monkeypatch.setattr(sys, "stderr", OutStream())
    monkeypatch.setattr(module, "SHOWN_AFTER", 0.0)
    address, target = server.say("body", Answer(BODY, status=404)), tmp_path / "body"
    with pytest.raises(DataUnavailable):
        download(address, target, limit=len(BODY), progress=progress)
    assert bool(re.search(r"body: +0%", "".join(written))) == progress

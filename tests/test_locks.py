"""Locks: one at a time, who holds it is said, and a dead holder holds nothing."""

from __future__ import annotations

import errno
import os
import re
import socket
from pathlib import Path

import pytest
from disk import full_after
from lock_holder import holder

from deepdive.locks import Held, hold


def test_who_holds_a_lock_is_said_to_the_second(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with holder(path) as other:
        said = f"the folder is in use by process {other.pid} on {socket.gethostname()}, since"
        with pytest.raises(Held, match=re.escape(said)), hold(path, "the folder"):
            pytest.fail("two hold it")


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with holder(path) as other:
        other.kill()
        other.wait()
        with hold(path, "the folder"):
            assert path.is_file()


def test_a_lock_is_free_after_its_block_however_that_ends(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with hold(path, "the folder"), pytest.raises(Held), hold(path, "the folder"):
        pytest.fail("two hold it")
    with pytest.raises(ZeroDivisionError), hold(path, "the folder"):
        raise ZeroDivisionError
    with hold(path, "the folder"):
        pass


def test_a_full_disk_keeps_nobody_from_a_lock(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with full_after(0), hold(path, "the folder"):
        message = "in use by another process"
        with pytest.raises(Held, match=message), hold(path, "the folder"):
            pytest.fail("two hold it")


def test_a_file_system_without_locks_is_told_and_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refused(number: int, operation: int) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(fcntl, "flock", refused)
    told = "cannot be locked on this file system .*no other process"
    with pytest.warns(UserWarning, match=told), hold(tmp_path / ".lock", "the folder"):
        (tmp_path / "work").touch()
    assert (tmp_path / "work").exists()

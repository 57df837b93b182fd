"""The book's builder: one at a time into a folder, and only a folder of its own is replaced."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from disk import full_after
from lock_holder import holder

from book import build
from book.folders import check_ours, files

Build = Callable[[], int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Build a book of one text into `site`; Sphinx writes one page, at once."""
    root = tmp_path / "checkout"
    (root / "book").mkdir(parents=True)
    (root / "book" / "paths.yaml").write_text("[]")
    (root / "book" / "index.md").write_text("# The book\n\n<!-- pages -->\n")

    def sphinx(source: Path, site: Path, doctrees: Path) -> bool:
        assert (source / "index.md").is_file()
        (site / "_static").mkdir(parents=True)
        (site / "index.html").write_text("<!DOCTYPE html>")
        return False

    monkeypatch.setattr(build, "sphinx", sphinx)
    monkeypatch.setattr(build, "check", lambda site: [])
    monkeypatch.setattr(build, "font_for_web", lambda: b"")
    monkeypatch.setattr(build, "decks", lambda pages, site: None)
    arguments = ["build.py", "--root", str(root), "--out", str(tmp_path / "site")]
    monkeypatch.setattr(sys, "argv", arguments)
    return build.main


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_site_is_replaced_by_the_next_and_nothing_else_is_left(
    run: Build, tmp_path: Path
) -> None:
    for _ in range(2):
        assert run() == 0
        assert left(tmp_path) == ["checkout", "site"]
        assert "index.html" in files(tmp_path / "site")


def test_a_second_build_says_who_builds_and_fails(
    run: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with holder(tmp_path / ".site.lock") as other:
        assert run() == 1
        said = f"--out: {tmp_path / 'site'} is in use by process {other.pid} on "
        assert capsys.readouterr().err.startswith(said)
        assert left(tmp_path) == [".site.lock", ".site.lock.holder", "checkout"]


@pytest.mark.parametrize("folder", ["site", "site-work"])
@pytest.mark.parametrize("built", [False, True])
def test_a_folder_of_others_is_refused_by_name(
    run: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str, built: bool
) -> None:
    assert not built or run() == 0
    notes = tmp_path / folder / "mine" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    before = files(tmp_path)
    assert run() == 1
    assert f"--out: {tmp_path / folder} holds mine/notes.txt" in capsys.readouterr().err
    assert files(tmp_path) == before


def test_a_file_in_the_place_of_the_folder_is_refused(
    run: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site").write_text("mine")
    assert run() == 1
    assert "is a file, expected a folder" in capsys.readouterr().err
    assert (tmp_path / "site").read_text() == "mine"


def test_an_empty_folder_is_taken(run: Build, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    assert run() == 0


def test_a_stopped_build_keeps_the_site_and_is_no_hindrance(
    run: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run() == 0

    def stopped(*folders: Path) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(build, "sphinx", stopped)
        assert run() == 130
        assert left(tmp_path) == ["checkout", "site"]
        patch.setattr(build, "remove", lambda folder: None)  # as SIGKILL leaves it
        assert run() == 130
    assert left(tmp_path) == ["checkout", "site", "site-work"]
    assert run() == 0
    assert left(tmp_path) == ["checkout", "site"]


@pytest.mark.parametrize("size", [0, 100])
def test_a_full_disk_is_named_and_keeps_the_site(
    run: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str], size: int
) -> None:
    assert run() == 0
    with full_after(size):
        assert run() == 1
    assert "File too large: see that there is room" in capsys.readouterr().err
    assert left(tmp_path) == ["checkout", "site"]
    assert run() == 0


def test_the_book_s_list_names_all_its_files(book: Path) -> None:
    check_ours(book)

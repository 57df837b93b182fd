"""Ways in, tried from scratch: what passes and what fails is said, and nothing stays behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import ways_in
from checkout import ROOT
from nbformat.v4 import new_code_cell, new_notebook


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two ways of which one fails, and the folder that all is made in."""

    def good(way: ways_in.Way) -> None:
        way.run(sys.executable, "-c", "print('done')")

    def bad(way: ways_in.Way) -> None:
        way.environment = way.folder
        way.run(sys.executable, "-c", "print('no such thing'); raise SystemExit(3)")

    monkeypatch.setattr(ways_in, "WAYS", {"good": good, "bad": bad})
    monkeypatch.setattr(ways_in, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(ways_in.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_passes_and_what_fails_is_said(
    tried: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["ways_in.py"])
    assert ways_in.main() == 1
    told = capsys.readouterr().out
    assert "good     passed" in told
    assert "bad      FAILED" in told
    assert "ended with 3:" in told
    assert "no such thing" in told
    assert told.endswith("1 of 2 ways passed\n")
    assert "done" in (tried / "logs" / "good.log").read_text("utf-8")
    assert [path.name for path in tried.iterdir()] == ["logs"], "the environments are gone"
    monkeypatch.setattr("sys.argv", ["ways_in.py", "--only", "good"])
    assert ways_in.main() == 0


def test_each_way_is_explained_and_chapters_have_one_notebook_each() -> None:
    explained = (ways_in.__doc__ or "").partition("\n\nread")[2]
    assert all(f"\n{name} " in f"\nread{explained}" for name in ways_in.WAYS)
    chosen = ways_in.one_of_each_chapter(ROOT)
    folders = {path.parent.name for path in chosen}
    assert folders == {path.name for path in ROOT.glob("chapters/[0-9]*")}


@pytest.mark.parametrize(
    ("code", "passes"),
    [
        ("import sys\nassert 'google.colab' in sys.modules", True),
        ("raise ModuleNotFoundError('No module named x: run `%pip install x`')", True),
        ("raise ModuleNotFoundError('No module named x')", False),
    ],
)
def test_a_notebook_alone_runs_or_says_what_to_install(
    tmp_path: Path, code: str, passes: bool
) -> None:
    nbformat.write(new_notebook(cells=[new_code_cell(code)]), tmp_path / "page.ipynb")
    command = [sys.executable, "-c", ways_in.ALONE, "page.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == passes, done.stderr

"""Where pages are to be written and cannot be: said before they run, and nothing half written."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from disk import full_after

from deepdive_book.site.pages.commands import main

PAGE = """# %% [markdown]
# # Softmax
#
# **Why?** 5 min

# %%
from pathlib import Path

Path("it_ran").touch()
text = "x" * 20_000
text
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page of a checkout, the current folder; it leaves `it_ran` beside it."""
    path = tmp_path / "chapters" / "01_demo" / "01_good.py"
    path.parent.mkdir(parents=True)
    path.write_text(PAGE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return path


@pytest.mark.parametrize("option", ["--out", "--figures"])
def test_a_place_that_cannot_be_written_is_named_before_anything_runs(
    page: Path, tmp_path: Path, option: str
) -> None:
    (tmp_path / "file").touch()
    result = CliRunner().invoke(main, ["run", "1.1", "--profile", "ci", option, "file/there"])
    assert result.exit_code == 2, result.output
    assert f"{option}: cannot write in " in result.output
    assert "nothing was run" in result.output
    assert not page.with_name("it_ran").exists()


def test_a_full_disk_is_named_before_anything_runs(page: Path) -> None:
    with full_after(0):
        result = CliRunner().invoke(main, ["notebooks", "1.1"])
    assert result.exit_code == 2, result.output
    assert f"the notebook: cannot write in {page.parent} (File too large)" in result.output
    assert not page.with_name("it_ran").exists()


def test_a_disk_that_fills_up_costs_a_page_not_its_notebook(page: Path, tmp_path: Path) -> None:
    out = tmp_path / "there" / "chapters" / "01_demo"
    out.mkdir(parents=True)
    (out / "01_good.ipynb").write_text("what was there")
    with full_after(10_000):
        result = CliRunner().invoke(main, ["run", "1.1", "--profile", "ci", "--out", "there"])
    assert result.exit_code == 1, result.output
    assert "the page ran, but could not be kept: File too large" in result.output
    assert [path.name for path in out.iterdir()] == ["01_good.ipynb"]
    assert (out / "01_good.ipynb").read_text() == "what was there"

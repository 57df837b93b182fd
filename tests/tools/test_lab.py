"""JupyterLab for readers: a trusted copy of the pages, which is theirs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jupyter_client
import lab
import nbformat
import pytest
from checkout import ROOT
from jupyter_client.kernelspec import KernelSpecManager
from jupyterlab_server.config import get_static_page_config
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook, new_output

PAGE = "chapters/01_demo/01_page.ipynb"


@pytest.fixture(autouse=True)
def _own_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's signatures and settings are left alone."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A checkout with one page, its source, and a study's results."""
    (tmp_path / "casestudies/results").mkdir(parents=True)
    (tmp_path / "casestudies/results/schema.json").write_text("{}")
    (tmp_path / PAGE).parent.mkdir(parents=True)
    (tmp_path / PAGE).with_suffix(".py").write_text("# %%\n1 + 1\n")
    write(tmp_path / PAGE, "1 + 1")
    return tmp_path


def write(path: Path, source: str, **metadata: object) -> None:
    figure = new_output("display_data", {"image/svg+xml": "<svg/>", "text/plain": "a figure"})
    cell = new_code_cell(source, outputs=[figure], id="one")
    nbformat.write(new_notebook(cells=[cell], metadata=metadata), path)


def test_the_copy_has_notebooks_and_no_sources(book: Path) -> None:
    copy = book / "mine"
    assert lab.refresh(book, copy) == []
    seen = {path.relative_to(copy).as_posix() for path in copy.rglob("[!.]*.*")}
    assert seen == {PAGE, "casestudies/results/schema.json"}


def test_figures_of_the_copy_are_shown_at_once(book: Path) -> None:
    lab.refresh(book, book / "mine")
    notary = NotebookNotary()
    assert notary.check_signature(nbformat.read(book / "mine" / PAGE, as_version=4))
    write(book / PAGE, "a page that came from elsewhere")
    assert not notary.check_signature(nbformat.read(book / PAGE, as_version=4))


def test_lab_finds_nothing_to_write_into_a_page_that_it_opens(book: Path) -> None:
    """Lab takes the kernel's metadata into a notebook, and marks as changed one that lacks them."""
    lab.refresh(book, book / "mine")
    metadata = nbformat.read(book / "mine" / PAGE, as_version=4).metadata
    with jupyter_client.run_kernel(kernel_name="python3") as client:
        told = client.kernel_info(reply=True, timeout=60)["content"]["language_info"]
    assert metadata["language_info"] == told
    spec = KernelSpecManager().get_kernel_spec("python3")
    names = {"display_name": spec.display_name, "language": spec.language, "name": "python3"}
    assert metadata["kernelspec"] == names


def test_a_page_that_was_only_read_follows_the_book(book: Path) -> None:
    copy = book / "mine"
    lab.refresh(book, copy)
    write(copy / PAGE, "1 + 1", kernelspec={"name": "python3", "display_name": "Lab's own"})
    write(book / PAGE, "2 + 2")
    assert lab.refresh(book, copy) == []
    assert nbformat.read(copy / PAGE, as_version=4).cells[0].source == "2 + 2"


def test_what_a_reader_wrote_stays_and_is_named_once_the_book_changes(book: Path) -> None:
    copy = book / "mine"
    lab.refresh(book, copy)
    write(copy / PAGE, "my own words")
    assert lab.refresh(book, copy) == []
    write(book / PAGE, "2 + 2")
    assert lab.refresh(book, copy) == lab.refresh(book, copy) == [PAGE]
    assert nbformat.read(copy / PAGE, as_version=4).cells[0].source == "my own words"
    (copy / PAGE).rename(copy / "chapters/01_demo/mine.ipynb")
    assert lab.refresh(book, copy) == []
    assert nbformat.read(copy / PAGE, as_version=4).cells[0].source == "2 + 2"
    assert (copy / "chapters/01_demo/mine.ipynb").is_file()


def test_a_run_of_the_readers_is_kept_too(book: Path) -> None:
    copy = book / "mine"
    lab.refresh(book, copy)
    notebook = nbformat.read(copy / PAGE, as_version=4)
    notebook.cells[0].outputs = [new_output("stream", text="what my machine says\n")]
    nbformat.write(notebook, copy / PAGE)
    write(book / PAGE, "2 + 2")
    assert lab.refresh(book, copy) == [PAGE]


def test_an_instructors_menus_are_left_out_here_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs" / "labconfig"
    theirs.mkdir(parents=True)
    (theirs / "page_config.json").write_text(json.dumps({"disabledExtensions": {"other": True}}))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(theirs.parent))
    lab.configure(tmp_path / "mine")
    assert os.environ["JUPYTER_CONFIG_PATH"].endswith(str(theirs.parent))
    disabled = get_static_page_config()["disabledExtensions"]
    assert {"@jupyter/nbgrader", "other"} <= set(disabled)


def test_root_gets_the_option_that_lab_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab.os, "geteuid", lambda: 0)
    assert lab.options(["--no-browser"]) == ["--no-browser", "--allow-root"]
    assert lab.options(["--allow-root"]) == ["--allow-root"]
    monkeypatch.setattr(lab.os, "geteuid", lambda: 1000)
    assert lab.options(["--port", "8890"]) == ["--port", "8890"]


def test_the_copy_can_be_made_without_a_server(
    book: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lab, "ROOT", book)
    monkeypatch.setattr(lab, "COPY", book / "mine")
    monkeypatch.setattr("sys.argv", ["lab.py", "--copy-only"])
    monkeypatch.setattr(lab, "configure", lambda copy: pytest.fail("no Lab is started"))
    lab.main()
    assert (book / "mine" / PAGE).is_file()
    assert str(book / "mine") in capsys.readouterr().out


def test_lab_opens_on_a_page_of_the_copy(tmp_path: Path) -> None:
    assert (ROOT / lab.START).is_file()
    assert any(lab.START in word for word in lab.settings(tmp_path))
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert f"/{lab.COPY.name}/" in ignored

"""`make pdf`: builds the pages that it prints, and no others; says how far it has come."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from checkout import ROOT
from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from book import pdf
from book.pdf import PrintError, chapters, chosen, joined, main, print_chapters, site_of

sys.path.append(str(ROOT / "book"))  # as book/build.py does
from stage import LEFT_OUT

from build import BUILT_FROM, build, state, up_to_date

TEXTS = {
    "book/index.md": "# The book\n\n<!-- pages -->\n",
    "book/glossary.md": "# Glossary\n\n```{glossary}\nsoftmax\n  Exponentials.\n```\n",
    "book/notation.md": "# Notation\n\nLetters.\n",
    "ERRATA.md": "# Errata\n\nNone.\n",
}
FIRST = "# {number} {title}\n\n**What is it?**\n\nBook 1.1, 5 min"
LINKED = """## Links

A softmax. See [the next page](02_norms.ipynb#links), [another *chapter*
of the book](../02_other/01_heads.ipynb#links), [its source](../02_other/01_heads.py), [letters]
(../../book/notation.md), [errata](../../ERRATA.md), [the code](../../lib/part.py), and
[elsewhere](https://example.org).
"""
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
OUT = '<a href="../02_other/01_heads.ipynb#links">a link in an output</a>'


def notebook(number: str, title: str, *more: str) -> Any:
    shown = new_output("display_data", data={"text/html": OUT, "image/png": PNG})
    cells = [
        new_markdown_cell(FIRST.format(number=number, title=title)),
        *map(new_markdown_cell, more),
        new_code_cell("x", outputs=[shown] if more else []),
    ]
    made = new_notebook(cells=cells)
    made.metadata = from_dict({"language_info": {"name": "python"}})
    cost = {"profile": "laptop", "under_seconds": 15, "under_mb": 500, "data": []}
    made.metadata["deepdive"] = cost
    return made


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of two chapters, whose pages link to one another and to texts of the book."""
    folder = tmp_path_factory.mktemp("checkout")
    pages = {
        "01_demo/01_softmax": notebook("1.1", "Softmax", LINKED),
        "01_demo/02_norms": notebook("1.2", "Norms", "## Links\n\nNone."),
        "02_other/01_heads": notebook("2.1", "Heads", "## Links\n\nNone."),
    }
    for name, made in pages.items():
        path = folder / "chapters" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(made, path)
        text = made.cells[0].source.replace("\n", "\n# ")
        path.with_suffix(".py").write_text(f"# %% [markdown]\n# {text}\n")
    for name, text in {**TEXTS, "lib/part.py": "x = 1\n"}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture(scope="module")
def part(root: Path) -> Path:
    """The site of the first chapter alone."""
    out = root / "build" / "site-pdf"
    assert build(root, out, ["01_demo"]) == []
    return out


@pytest.fixture(scope="module")
def whole(root: Path, part: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the whole checkout; built after `part`, and elsewhere."""
    out = tmp_path_factory.mktemp("whole") / "site"
    assert build(root, out) == []
    return out


def printed(site: Path) -> str:
    """The document of the first chapter, without the marks of links that became text."""
    document = joined(chapters(site)["01_demo"], "Demo")
    return re.sub(r'<span class="std[^"]*">(.*?)</span>', r"\1", document, flags=re.DOTALL)


# -- what is built


def test_only_the_pages_of_the_chapter_are_built(part: Path) -> None:
    built = sorted(path.relative_to(part).as_posix() for path in part.glob("*/*/*.html"))
    assert built == ["chapters/01_demo/01_softmax.html", "chapters/01_demo/02_norms.html"]
    assert not (part / "notation.html").exists()


def test_what_is_printed_is_the_same_as_from_the_whole_book(part: Path, whole: Path) -> None:
    assert list(chapters(whole)) == ["01_demo", "02_other"]
    assert printed(part) == printed(whole)


def test_links_to_what_is_left_out_are_text(part: Path) -> None:
    page = (part / "chapters/01_demo/01_softmax.html").read_text("utf-8")
    assert f"{LEFT_OUT}chapters/02_other/01_heads.ipynb#links" in page
    document = BeautifulSoup(printed(part), "html.parser")
    assert LEFT_OUT not in str(document)
    links = {link.get_text(" ", strip=True): link["href"] for link in document.select("article a")}
    assert links.pop("the next page") == "#02_norms-links"
    assert links.pop("elsewhere") == "https://example.org"
    assert links == {}
    told = document.get_text(" ", strip=True)
    for words in ("another chapter of the book", "its source", "letters", "a link in an output"):
        assert words in " ".join(told.split())


# -- what is built again


def test_a_site_is_up_to_date_until_a_file_changes(root: Path, part: Path) -> None:
    assert up_to_date(root, part, ["01_demo"])
    assert not up_to_date(root, part)
    assert not up_to_date(root, part, ["02_other"])
    assert not up_to_date(root, root / "build" / "nowhere")
    page = root / "chapters/01_demo/02_norms.ipynb"
    before, about = page.read_bytes(), page.stat()
    page.write_bytes(before + b"\n")
    assert not up_to_date(root, part, ["01_demo"])
    page.write_bytes(before)

    os.utime(page, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert up_to_date(root, part, ["01_demo"])
    new = root / "book" / "new.md"
    new.write_text("# New\n")
    assert not up_to_date(root, part, ["01_demo"])
    new.unlink()
    (root / "lib" / "deepdive" / "__pycache__").mkdir(parents=True)
    (root / "lib" / "deepdive" / "__pycache__" / "a.pyc").write_bytes(b"")
    assert up_to_date(root, part, ["01_demo"]), "what Python keeps is no source"


def test_a_build_at_fault_is_not_called_up_to_date(root: Path, tmp_path: Path) -> None:
    copy, out = tmp_path / "copy", tmp_path / "site"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("build"))
    page = copy / "chapters/01_demo/02_norms.ipynb"
    before = page.read_bytes()
    page.write_bytes(before.replace(b"None.", b"[None](nowhere.ipynb)"))
    assert build(copy, out, ["01_demo"]) != []
    assert not up_to_date(copy, out, ["01_demo"])
    assert not out.exists()
    page.write_bytes(before)
    assert build(copy, out, ["01_demo"]) == []
    assert (out / BUILT_FROM).read_text() == state(copy, ["01_demo"])


# -- which site is printed


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """The sites that are asked for, each with its chapters; none is built."""
    asked: list[tuple[str, list[str]]] = []

    def noted(root: Path, out: Path, only: Sequence[str] = ()) -> list[str]:
        asked.append((out.name, list(only)))
        return []

    monkeypatch.setattr(pdf, "build", noted)
    return asked


def fresh(*sites: str) -> Callable[..., bool]:
    return lambda root, out, only=(): out.name in sites


@pytest.mark.parametrize(
    ("every", "current", "site", "asked"),
    [
        (True, (), "site", [("site", [])]),
        (True, ("site-pdf",), "site", [("site", [])]),
        (True, ("site",), "site", []),
        (False, (), "site-pdf", [("site-pdf", ["01_demo"])]),
        (False, ("site-pdf",), "site-pdf", []),
        (False, ("site", "site-pdf"), "site", []),
    ],
)
def test_no_more_is_built_than_is_printed(
    every: bool,
    current: tuple[str, ...],
    site: str,
    asked: list[tuple[str, list[str]]],
    builds: list[tuple[str, list[str]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pdf, "up_to_date", fresh(*current))
    assert site_of(tmp_path, ["01_demo"], every) == tmp_path / "build" / site
    assert builds == asked


def test_a_fault_of_the_book_ends_the_printing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "build", lambda root, out, only=(): ["a.html: leads nowhere"])
    with pytest.raises(PrintError, match=r"a\.html: leads nowhere"):
        site_of(tmp_path, ["01_demo"], every=False)


# -- the command


@pytest.fixture
def printer(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are printed; what is written is no PDF, and takes no browser."""
    files: list[str] = []

    def write(document: str, folder: Path, target: Path) -> None:
        files.append(target.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(document)

    monkeypatch.setattr(pdf, "print_pdf", write)
    monkeypatch.setattr(pdf, "program", lambda: "chromium")
    return files


def test_each_chapter_is_told_as_it_is_printed(
    whole: Path, printer: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_chapters(whole, ["01_demo", "02_other"], tmp_path)
    assert printer == ["01_demo.pdf", "02_other.pdf"]
    told = capsys.readouterr().out.splitlines()
    assert [re.sub(r"[\d.]+ (MB|s)", r"N \1", line) for line in told] == [
        f"[1/2] 01_demo: 2 pages, N MB, N s, {tmp_path / '01_demo.pdf'}",
        f"[2/2] 02_other: 1 pages, N MB, N s, {tmp_path / '02_other.pdf'}",
    ]


def test_the_command_builds_and_prints_what_is_named(
    root: Path,
    part: Path,
    printer: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["pdf.py", "--root", str(root), "--out", str(tmp_path), "demo"]
    monkeypatch.setattr(sys, "argv", given)
    assert main() == 0
    assert printer == ["01_demo.pdf"]
    assert not (root / "build" / "site").exists(), "the whole book was not asked for"
    assert capsys.readouterr().out.startswith("build/site-pdf is up to date\n[1/1] 01_demo")
    monkeypatch.setattr(sys, "argv", [*given, "damo"])
    assert main() == 1
    assert "no chapter has 'damo' in its name: they are 01_demo, 02_other" in (
        capsys.readouterr().err
    )


def test_without_a_browser_nothing_is_built(
    root: Path,
    builds: list[tuple[str, list[str]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(pdf, "program", lambda: None)
    monkeypatch.setattr(sys, "argv", ["pdf.py", "--root", str(root)])
    assert main() == 1
    assert "make browser" in capsys.readouterr().err
    assert builds == []


def test_chapters_are_chosen_by_a_part_of_their_names(root: Path) -> None:
    assert chosen(root, []) == ["01_demo", "02_other"]
    assert chosen(root, ["oth"]) == ["02_other"]
    assert chosen(root, ["02", "demo"]) == ["01_demo", "02_other"]


@pytest.mark.usefixtures("installed")
def test_a_chapter_of_a_partial_site_is_printed(part: Path, tmp_path: Path) -> None:
    print_chapters(part, ["01_demo"], tmp_path)
    assert (tmp_path / "01_demo.pdf").read_bytes().startswith(b"%PDF")


def test_make_pdf_leaves_the_building_to_the_program() -> None:
    told = subprocess.run(
        ["make", "-n", "pdf", "slides", "PAGES=03_bert"], cwd=ROOT, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert "book/pdf.py --out build/pdf 03_bert" in told
    assert "book/pdf.py --slides --out build/pdf 03_bert" in told
    assert "book/build.py" not in told

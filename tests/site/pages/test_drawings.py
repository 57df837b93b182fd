"""The drawing that a page opens with: made by its function, shown before any code."""

from __future__ import annotations

import base64
import sys
import types
from pathlib import Path
from typing import Any

import nbformat
import pytest
from checkout import ROOT

from deepdive_book.kit.diagrams import svg, text
from deepdive_book.site.pages import Page, PageError, discover, drawings, figure_store, source
from deepdive_book.site.pages.setup_cell import SETUP

PAGE = f"""\
# %% [markdown]
# # Norms
#
# What does a norm do?
#
# <small>5 min</small>

# %% Two norms [markdown] tags=["slide"] figure="ch00.two_norms"
# ![LayerNorm beside RMSNorm, with [brackets] and a "quote",
# over two lines.](figures/01_norms.svg)
#
# *Both norms.*

# %% tags=["setup"]
{SETUP}
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    module: Any = types.ModuleType("deepdive_book.ch00.figures.two_norms")
    module.two_norms = lambda: svg(90, 30, [text(40, 12, "RMSNorm")])
    monkeypatch.setitem(sys.modules, module.__name__, module)
    path = tmp_path / "chapters" / "00_start" / "01_norms.py"
    path.parent.mkdir(parents=True)
    path.write_text(PAGE, encoding="utf-8")
    return Page(path, tmp_path)


def build(page: Page) -> Any:
    notebook = source.load(page)
    notebook.metadata["deepdive"] = {"data": []}
    notebook.cells[2].execution_count = 1
    source.write_committed(page, notebook)
    return source.committed(page)


def test_a_build_writes_the_drawing_in_black_on_white(page: Page) -> None:
    build(page)
    drawn = (page.source.parent / "figures" / "01_norms.svg").read_text("utf-8")
    assert drawn.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert 'style="background:#fff;color:#000;' in drawn
    assert "RMSNorm" in drawn
    assert source.problems(page) == []


def test_a_notebook_shows_text_then_the_drawing_then_setup(page: Page) -> None:
    first, shown, setup = build(page).cells
    assert first.cell_type == shown.cell_type == "markdown"
    assert "![LayerNorm" in shown.source
    assert setup.metadata.tags == ["setup"]


@pytest.mark.parametrize("fault", ["missing", "old"])
def test_a_check_names_a_drawing_that_is_missing_or_old(page: Page, fault: str) -> None:
    build(page)
    path = page.source.parent / "figures" / "01_norms.svg"
    path.unlink() if fault == "missing" else path.write_text("<svg/>", "utf-8")
    (found,) = source.problems(page)
    assert "figures/01_norms.svg isn't what its module draws: run `make notebooks`" in found


def test_prose_alone_also_renews_the_drawing(page: Page) -> None:
    build(page)
    (page.source.parent / "figures" / "01_norms.svg").unlink()
    source.refresh_prose(page)
    assert source.problems(page) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ch00.two_norms", "ch00.no_such_module", "no_such_module"),
        ("ch00.two_norms", "ch00.two_norms:no_such_function", "no_such_function"),
        ("figures/01_norms.svg", "elsewhere.png", r"begin it with !\[alternative text\]"),
    ],
)
def test_a_wrong_name_is_an_error_that_says_which(
    page: Page, old: str, new: str, message: str
) -> None:
    page.source.write_text(PAGE.replace(old, new), encoding="utf-8")
    with pytest.raises(PageError, match=message):
        drawings.draw(page, source.load(page))


def test_once_published_the_image_has_an_address_that_colab_can_load(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawings, "ADDRESS", "https://github.com/me/book")
    shown = build(page).cells[1].source
    raw = "https://raw.githubusercontent.com/me/book/main/chapters/00_start/figures/01_norms.svg"
    assert f"]({raw})" in shown
    notebook = drawings.as_outputs(source.committed(page), page.source.parent)
    assert notebook.cells[1].outputs[0].data["image/svg+xml"].startswith("<svg")


def test_a_notebook_that_leaves_its_folder_holds_the_drawing(page: Page) -> None:
    build(page)
    alone = drawings.embedded(source.committed(page), page.source.parent)
    data = alone.cells[1].source.split("base64,")[1].split(")")[0]
    assert base64.b64decode(data).decode().startswith("<svg")
    assert "*Both norms.*" in alone.cells[1].source


def test_the_book_shows_it_like_a_figure_that_the_page_draws(page: Page) -> None:
    build(page)
    _, drawn, caption, _ = drawings.as_outputs(source.committed(page), page.source.parent).cells
    (out,) = drawn.outputs
    alt = 'LayerNorm beside RMSNorm, with [brackets] and a "quote", over two lines.'
    assert out.metadata["image/svg+xml"]["alt"] == alt
    assert "background" not in out.data["image/svg+xml"]  # the book has its own paper
    assert drawn.metadata.tags == ["slide", "remove-input"]
    assert caption.source == "*Both norms.*"


def test_the_folder_of_figures_has_it_first(page: Page, tmp_path: Path) -> None:
    build(page)
    folder = tmp_path / "out"
    figure_store.begin(page, folder)
    figure_store.store(page, "ci", folder, page.notebook)
    drawn = folder / "00_start" / "01_norms-00.svg"
    assert "RMSNorm" in drawn.read_text("utf-8")
    assert figure_store.has(page, "ci", folder)


def test_every_drawing_of_the_book_has_alternative_text_and_a_caption() -> None:
    found = 0
    for page in discover(ROOT):
        for cell in nbformat.read(page.notebook, as_version=4).cells:
            if "figure" in cell.metadata:
                found += 1
                image, caption = cell.source.split("\n\n")
                assert len(image.split("](")[0]) > 60, page.name
                assert caption[0] == caption[-1] == "*", page.name
    assert found >= 11

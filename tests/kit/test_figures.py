"""Every figure of a page as SVG and PDF, with its words; and outputs that stay as they were."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import torch

from book.figures import around, finish, plain, sheet
from deepdive.core import MultiHeadAttention
from deepdive_book.ch02.toys.number_words import number_words
from deepdive_book.kit import figures
from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.explorer import attention_explorer
from deepdive_book.kit.figures import DC, LICENSE, SETTING, SVG, Picture
from deepdive_book.kit.live import live
from deepdive_book.kit.markup import Html
from deepdive_book.site.pages import discover, figure_store, find, runner
from deepdive_book.site.pages.setup_cell import SETUP

PLOT, AFTER = "a & b: a line that rises", "the same, with a title"
DRAWING, STRIP = 'two boxes, "before" < "after"', "a box moves"
# heads: a layout that moves when it is drawn again
SOURCE = f"""\
# %% [markdown]
# # 1.1 Softmax
#
# **How do scores become shares?**
#
# Book 1.1, 5 min

# %% tags=["setup"]
{SETUP}

# %% [markdown]
# ## The `plot` of $w_i$

# %%
import torch

from deepdive_book.kit.plotting import heads, show, with_alt

maps = torch.arange(48.0).reshape(2, 4, 6) / 48
figure = with_alt(heads(maps, list("abcd"), ["α", "beta", "gamma", "d", "e", "f"]), {PLOT!r})
show(figure)

# %% [markdown]
# *Left, a line; right, `another` $w_1*w_2$.*
#
# More *words*.

# %%
figure

# %%
from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.frame_strip import film

inner = svg(30, 20, [text(9, 9, "in")])
show(svg(200, 80, [text(60, 20, "softmax", bold=True), inner]), {DRAWING!r})
show(figure)

# %%
clipped = '<defs><clipPath id="c"><rect width="20" height="20"/></clipPath></defs>'
frames = [svg(300, 40, [clipped, '<g clip-path="url(#c)">', text(40 * i, 20, "x"), "</g>"])
          for i in range(5)]
film(frames, [f"place `{{i}}`, and words that go on beyond the width" for i in range(5)], {STRIP!r})

# %%
figure.axes[0].set_title("another")
with_alt(figure, {AFTER!r})
"""
PAGE = re.compile(rb"/Type\s*/Page\b")


def pages(folder: Path, text: str = SOURCE) -> Any:
    path = folder / "chapters" / "01_demo" / "01_softmax.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return discover(folder)


def run(root: Path, out: Path | None, text: str = SOURCE) -> tuple[str, Path]:
    """Run the page; how that ended, and its notebook."""
    found, runs = pages(root, text), root / ("with" if out else "without")
    (result,) = runner.run_pages(found, "ci", runs, io.StringIO(), figures=out)
    return result.status, runs / f"{found[0].name}.ipynb"


@pytest.fixture(scope="module")
def shelved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose page was run with its figures, in `figures`."""
    root = tmp_path_factory.mktemp("figures")
    status, _ = run(root, root / "figures")
    assert status == "ok"
    return root


def note(root: Path) -> Any:
    return json.loads((root / "figures/01_demo/01_softmax.json").read_text("utf-8"))


def drawings(root: Path) -> list[ET.Element]:
    return [ET.parse(path).getroot() for path in sorted(root.glob("figures/01_demo/*.svg"))]


def test_a_page_s_outputs_are_the_same_bytes_with_and_without(
    shelved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTING, str(shelved / "without" / "mine"))  # a run does not write there
    status, notebook = run(shelved, None)
    assert status == "ok"
    ours = shelved / "with" / notebook.relative_to(shelved / "without")
    assert ours.read_bytes() == notebook.read_bytes()
    assert not list((shelved / "without").rglob("*.svg"))


def test_each_figure_is_one_file_however_often_it_is_shown(shelved: Path) -> None:
    found = [(figure["svg"], figure["alt"]) for figure in note(shelved)["figures"]]
    assert found == [
        ("01_softmax-01.svg", PLOT),  # shown three times
        ("01_softmax-02.svg", DRAWING),
        ("01_softmax-03.svg", STRIP),
        ("01_softmax-04.svg", AFTER),  # the same figure, changed, and told so
    ]
    assert sorted(p.name for p in (shelved / "figures").rglob("*.pdf"))[:2] == [
        "01_softmax-01.pdf", "01_softmax-04.pdf",
    ]  # fmt: skip
    assert not (shelved / "figures" / figure_store.RUNNING).exists()


def test_a_drawing_carries_its_words_licence_size_and_fonts(shelved: Path) -> None:
    for number, (root, figure) in enumerate(
        zip(drawings(shelved), note(shelved)["figures"], strict=True), start=1
    ):
        ids = {element.get("id"): element for element in root.iter() if element.get("id")}
        assert len(ids) == sum(1 for e in root.iter() if e.get("id")), "an id stands twice"
        assert all(re.match("[A-Za-z_]", str(name)) for name in ids), "no name in XML"
        assert ids[root.get("aria-labelledby")].text == f"01_softmax, figure {number}"
        assert ids[root.get("aria-describedby")].text == figure["alt"]
        assert root[0].tag == f"{{{SVG}}}title"
        assert root.findtext(f".//{{{DC}}}rights") == LICENSE
        assert root.findtext(f".//{{{DC}}}description") == figure["alt"]
        text = ET.tostring(root, encoding="unicode")
        assert "system-ui" not in text
        assert re.search(r"[Ss]ans'?, ?sans-serif|, sans-serif", text)
        for target in re.findall(r'url\(#(.*?)\)|href="#(.*?)"', text):
            assert "".join(target) in ids
        assert float(str(root.get("width")).removesuffix("pt")) > 100
        assert root.get("height")


def test_text_stays_text_on_white(shelved: Path) -> None:
    plot, drawing, strip, _ = drawings(shelved)
    said = ["".join(root.itertext()) for root in (plot, drawing, strip)]
    assert "gamma" in said[0]
    assert "α" in said[0]
    assert "softmax" in said[1]
    assert said[2].count("place ") == 5
    assert "`" not in said[2]
    for root in (drawing, strip):
        paper = root.find(f"{{{SVG}}}rect")
        assert paper is not None
        assert (paper.get("fill"), paper.get("width")) == ("#fff", root.get("width"))
    assert drawing.get("color") == "#000"


def test_a_strip_has_every_frame_inside_and_none_upon_another(shelved: Path) -> None:
    strip = drawings(shelved)[2]
    frames = strip.findall(f"{{{SVG}}}svg")
    boxes = [tuple(float(f.attrib[k]) for k in ("x", "y", "width", "height")) for f in frames]
    assert len(boxes) == 5
    assert len({(x, y) for x, y, _, _ in boxes}) == 5
    assert max(x + w for x, _, w, _ in boxes) <= float(strip.attrib["width"])
    lowest = max(float(t.attrib["y"]) for t in strip.iter(f"{{{SVG}}}tspan"))
    assert lowest < float(strip.attrib["height"])
    assert len(strip.findall(f"{{{SVG}}}text/{{{SVG}}}tspan")) > 5, "captions are wrapped"


@pytest.mark.usefixtures("installed")
def test_the_sheet_and_the_index_say_what_each_figure_is(shelved: Path) -> None:
    out = shelved / "figures"
    assert finish(out) == []
    index = json.loads((out / "index.json").read_text("utf-8"))
    first = index[0]
    assert first == {
        "page": "chapters/01_demo/01_softmax",
        "title": "1.1 1.1 Softmax",
        "section": "The plot of $w_i$",
        "caption": "Left, a line; right, another $w_1*w_2$.",
        "alt": PLOT,
        "profile": "ci",
        "data": "the page's own examples",
        "licence": LICENSE,
        "svg": "01_demo/01_softmax-01.svg",
        "pdf": "01_demo/01_softmax-01.pdf",
    }
    assert [entry["caption"] for entry in index[1:]] == ["", "", ""]
    html = (out / "figures.html").read_text("utf-8")
    for kind in ("src", "href"):
        for target in re.findall(rf'{kind}="([^"]*)"', html):
            assert target == LICENSE or (out / target).is_file(), target
    assert html.count('alt="a &amp; b: a line that rises"') == 1
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.pdf")}
    assert finish(out) == []
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.pdf")} == before


@pytest.mark.usefixtures("installed")
def test_each_pdf_has_one_page_its_fonts_and_its_words(shelved: Path) -> None:
    assert finish(shelved / "figures") == []
    found = sorted((shelved / "figures").rglob("*.pdf"))
    assert [path.stem for path in found] == [f"01_softmax-0{i}" for i in (1, 2, 3, 4)]
    for path in found:
        data = path.read_bytes()
        assert len(PAGE.findall(data)) == 1, path
        assert b"/FontFile2" in data, f"{path}: no TrueType font inside"
        assert b"/Type3" not in data
        assert b"/Title (01_softmax, figure" in data
    plot, drawing, strip, _ = (path.read_bytes() for path in found)
    assert b"/Subject (a & b: a line that rises)" in plot
    assert b'/Alt (two boxes, "before" < "after")' in drawing
    assert re.search(rb"/MediaBox \[0 0 150 60(\.0\d*)?\]", drawing), "200 by 80 pixels in points"
    assert b"/Alt (a box moves)" in strip


def test_without_a_browser_the_drawings_are_named_and_the_sheet_is_there(
    shelved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Path(shutil.copytree(shelved, tmp_path / "copy")) / "figures"
    for number in (2, 3):
        (out / f"01_demo/01_softmax-0{number}.pdf").unlink(missing_ok=True)
    monkeypatch.setattr(sys.modules["pdf"], "program", lambda: None)
    (fault,) = finish(out)
    assert fault.startswith("chapters/01_demo/01_softmax: printing needs Chromium")
    index = json.loads((out / "index.json").read_text("utf-8"))
    assert ["pdf" in entry for entry in index] == [True, False, False, True]


def test_what_is_there_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, runs = tmp_path / "figures", tmp_path / "page.ipynb"
    runs.touch()

    def ran(text: str, *words: str) -> Any:
        """What a run of a page leaves that shows one drawing of each word."""
        (page,) = pages(tmp_path, text)
        monkeypatch.setattr(figures, "_saved", {})
        monkeypatch.setenv(SETTING, str(figure_store.begin(page, out)))
        for word in words:
            figures.save(Picture([svg(9, 9, [word])], "a drawing"))
        figure_store.store(page, "ci", out, runs)
        return page

    (page,) = pages(tmp_path)
    assert not figure_store.has(page, "ci", out)
    page = ran(SOURCE, "a", "b", "a")
    assert figure_store.has(page, "ci", out)
    assert not figure_store.has(page, "laptop", out), "another profile has other figures"
    assert [figure["svg"] for figure in note(tmp_path)["figures"]] == [
        "01_softmax-01.svg", "01_softmax-02.svg",
    ]  # fmt: skip
    page.source.write_text(SOURCE + "\n")
    assert not figure_store.has(page, "ci", out), "the page has other code now"

    page = ran(SOURCE + "\n", "c")
    assert figure_store.has(page, "ci", out)
    assert [p.name for p in (out / "01_demo").glob("*.svg")] == ["01_softmax-01.svg"]
    (out / "01_demo/01_softmax-01.svg").unlink()
    assert not figure_store.has(page, "ci", out)
    assert figure_store.has(ran("# %%\n1\n"), "ci", out), "a page without figures is done too"


def test_a_page_that_fails_leaves_the_figures_of_an_earlier_run(tmp_path: Path) -> None:
    out = tmp_path / "figures"
    (out / "01_demo").mkdir(parents=True)
    (out / "01_demo/01_softmax-01.svg").write_text("of an earlier run")
    status, _ = run(tmp_path, out, "# %% [markdown]\n# # 1.1 Softmax\n\n# %%\n1 / 0\n")
    assert status == "failed"
    assert [p.name for p in (out / "01_demo").iterdir()] == ["01_softmax-01.svg"]


def test_nothing_is_saved_unless_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setattr(figures, "_svg", lambda *given, **named: pytest.fail("it was drawn"))
    assert Html("<p>", "p", [Picture(["<svg/>"], "a")])._repr_html_() == "<p>"
    assert list(tmp_path.iterdir()) == []


def test_explorer_and_live_model_save_their_still_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = attention_explorer(MultiHeadAttention(16, 4), torch.randn(1, 3, 16), list("abc"))
    toy = number_words()
    number = live(toy.model, toy.source, toy.target, "quatre vingt")
    monkeypatch.setenv(SETTING, str(tmp_path / "page"))
    for shown in (explorer, number):
        assert shown._repr_html_() == shown.html
    kept = json.loads((tmp_path / "page.json").read_text("utf-8"))["figures"]
    assert [figure["svg"] for figure in kept] == ["page-01.svg", "page-02.svg"]
    assert kept[0]["alt"].startswith("Maps of ")
    for figure in kept:
        assert f'alt="{figure["alt"]}"' in explorer.html + number.html
        assert (tmp_path / figure["svg"]).with_suffix(".pdf").is_file()


def test_captions_are_the_sentence_in_italics_below() -> None:
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    def below(text: str) -> str:
        code = new_code_cell("x", execution_count=3)
        return around(new_notebook(cells=[code, new_markdown_cell(text)]), 3)[1]

    assert below("*The _grey_ lines\nare [old](a.ipynb#b).*\n\nAnd so on.") == (
        "The grey lines are old."
    )
    assert below("*Not all* of it.") == ""
    assert below("**Bold**") == ""
    assert plain("`W_q` and $a_i * b$") == "W_q and $a_i * b$"
    assert "Licence" in sheet([])


def test_a_real_page_gives_all_its_figures(root: Path, tmp_path: Path) -> None:
    page = find("2.0", root)
    (result,) = runner.run_pages(
        [page], "ci", tmp_path / "ci", io.StringIO(), figures=tmp_path / "figures"
    )
    assert result.status in ("ok", "over budget"), result.run.error
    shown = [
        out
        for cell in result.run.code
        for out in cell.outputs
        if {"image/png", "image/svg+xml"} & set(out.get("data", {}))
    ]
    assert shown
    found = json.loads((tmp_path / "figures/02_transformer/00_opening.json").read_text("utf-8"))
    assert [figure["alt"] for figure in found["figures"]] == [
        out.data["text/plain"] for out in shown
    ]
    for figure in found["figures"]:
        ET.parse(tmp_path / "figures/02_transformer" / figure["svg"])

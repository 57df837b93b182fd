"""Pictures in the book: drawings in the theme's colours, letters that can be read."""

from __future__ import annotations

import base64
import io
import re
import sys

import numpy as np
import pytest
from checkout import ROOT
from matplotlib.figure import Figure
from PIL import Image

from deepdive_book.kit.plotting import png

sys.path.append(str(ROOT / "book"))

from coded import colored
from pictures import POINT, columns, embedded, figure, letters, panels

DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 90" width="800" role="img">'
    '<text font-size="17" fill="#D55E00">query</text><text font-size="12">key</text></svg>'
)


def plot(width: int) -> str:
    buffer = io.BytesIO()
    Image.new("L", (width, 10)).save(buffer, format="png")
    return base64.b64encode(buffer.getvalue()).decode()


def test_a_drawing_stands_in_the_page_with_its_text_and_its_least_width() -> None:
    shown = figure("image/svg+xml", DRAWING, 'a "b"', 99)
    assert '<svg aria-label="a &quot;b&quot;" xmlns' in shown
    assert 'fill="var(--dd-query-words,#D55E00)"' in shown
    assert "--wide:800px;--least:614px" in shown, "letters of 12 px, of which 9.2 are left"
    pair = DRAWING.replace("<text", DRAWING + "<text", 1)
    assert figure("image/svg+xml", pair, "two", 99).count('role="img"') == 1
    assert "<img" in figure("image/svg+xml", DRAWING, "", 99), "the check names it"


def test_a_plot_is_as_wide_as_its_letters_ask_and_no_wider_than_it_is() -> None:
    assert "--wide:700px;--least:644px" in figure("image/png", plot(700), "x", 10)
    assert "--least:700px" in figure("image/png", plot(700), "x", 4)
    inside = f'<p><img alt="x" src="data:image/png;base64,{plot(700)}"></p>'
    assert '<img style="--wide:700px;--least:644px" alt="x"' in embedded(inside, 10)


def drawn(beside: int, *, title: str = "", narrow: bool = False) -> str:
    """A plot as a page makes one, with panels side by side."""
    about = {"width_ratios": [1] * (beside - 1) + [3]} if narrow else {}
    both = Figure(figsize=(7.5, 2.0), layout="constrained")
    for axes in both.subplots(1, beside, gridspec_kw=about):
        axes.plot([0, 1], [0, 1])
        axes.set(xlabel="texts", ylabel="seconds, of the processor")
    both.suptitle(title)
    return base64.b64encode(png(both)).decode()


@pytest.mark.parametrize("beside", [2, 3, 4])
def test_panels_side_by_side_are_cut_and_nothing_is_lost(beside: int) -> None:
    data = drawn(beside)
    whole = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("L"))
    parts = [np.asarray(Image.open(io.BytesIO(p)).convert("L")) for p in columns(data, beside)]
    assert len(parts) == beside
    assert (np.concatenate(parts, axis=1) == whole).all()
    for part in parts:
        assert (part[:, [0, -1]] > 250).all(), "the cut runs through white"
        axis = np.flatnonzero((part < 128).sum(0) > part.shape[0] / 2)[0]
        assert 30 < axis < part.shape[1] / 2, "its upright axis stands behind its name"
    shown = figure("image/png", data, "two lines", 15, beside)
    assert shown.startswith('<div class="dd-picture dd-row"><img style="--wide:')
    assert shown.count("--share:") == beside
    assert 'alt="two lines"' in shown
    assert f'alt="the same picture, part {beside} of {beside}"' in shown
    assert sum(float(x) for x in re.findall(r"--share:([\d.]+)%", shown)) < 100


def test_a_plot_whose_panels_cannot_be_told_apart_stays_whole() -> None:
    assert columns(drawn(2), 1) == []
    assert columns(drawn(2), 3) == []
    assert columns(drawn(2, narrow=True), 2) == []
    assert columns(drawn(2, title="A title that reaches across " * 2), 2) == []
    assert "dd-row" not in figure("image/png", plot(700), "x", 10, 2)


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("left, right = figure.subplots(1, 2)", 2),
        ("grid = figure.subplots(1, 3, sharex=True)", 3),
        ("both = figure.subplots(1, 2, sharey=True)", 1),
        ("figure.subplots(1, 2)\nfigure.colorbar(image)", 1),
        ("figure.subplots(2, 2)", 1),
        ("pair(figure)", 2),
    ],
)
def test_code_says_how_many_panels_stand_side_by_side(code: str, count: int) -> None:
    page = f"def pair(figure):\n    return figure.subplots(1, 2)\n\n{code}\n"
    assert panels(code, page) == count


@pytest.mark.parametrize(
    ("code", "points"),
    [
        ("axes.plot(x, markersize=4)", 10),
        ("axes.legend(fontsize=7)", 7),
        ('axes.set_title("a", size="small")', 8.33),
        ("heatmap(w, rows, cols, digits=2)", 8.33),
        ("draw(axes)", 6.5),
        ("fit(size=4000, vocab_size=8)", 10),
    ],
)
def test_code_says_how_large_the_letters_are(code: str, points: float) -> None:
    page = f"def draw(axes):\n    axes.text(0, 0, '', fontsize=6.5)\n\n{code}\n"
    assert letters(code, page) == points * POINT


def test_names_of_roles_wear_their_colours_where_queries_meet_keys() -> None:
    name = '<span class="n">{}</span>'.format
    dot, at, equals = (f'<span class="o">{x}</span>' for x in ".@=")
    shown = colored(f"{name('q')} {at} {name('keys')}; {name('sizes')}{dot}{name('values')}")
    assert shown == (
        f'<span class="role-query">q</span> {at} <span class="role-key">keys</span>; '
        f"{name('sizes')}{dot}{name('values')}"
    )
    alone = f"{name('sorted')}({name('x')}, {name('key')}{equals}{name('values')})"
    assert colored(alone) == alone
    assert name("key") in colored(f"{name('query')} {alone} {name('k')}"), "a keyword"

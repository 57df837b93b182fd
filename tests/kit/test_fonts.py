"""Figures in other scripts: fonts to fall back on, and one warning that says what to install."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure

from deepdive_book.kit import fonts
from deepdive_book.kit.figures import _drawn
from deepdive_book.kit.plotting import heatmap, png, style

DEJAVU = Path(font_manager.findfont("DejaVu Sans"))
HINDI, CHINESE, EMOJI = "नम", "你好", "\N{HUGGING FACE}"


@pytest.fixture(params=["matplotlib's style", "the book's style"])
def unknown(request: pytest.FixtureRequest) -> Any:
    """A fresh list of fonts, as if none but matplotlib's own were there."""
    before = list(font_manager.fontManager.ttflist)
    with mpl.rc_context():
        mpl.rcdefaults()
        if request.param == "the book's style":  # it stays where an earlier test has set it
            style()
        fonts.families.cache_clear()
        yield
    font_manager.fontManager.ttflist[:] = before
    fonts.families.cache_clear()


def with_ticks(*names: str) -> Figure:
    return heatmap(np.eye(len(names)), names, names, alt="a map")


def said_of(figure: Figure) -> list[str]:
    """The warnings to users, and no ResourceWarning of what another test left open."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        png(figure)
    return [str(warning.message) for warning in caught if warning.category is UserWarning]


@pytest.mark.usefixtures("unknown")
def test_only_fonts_that_are_installed_come_after_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A font installed since matplotlib made its list is found; one it cannot read is passed by."""
    here, broken = tmp_path / "symbols.ttf", tmp_path / "broken.ttf"
    shutil.copy(DEJAVU, here)
    broken.write_bytes(b"no font")
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(broken), str(here)])
    monkeypatch.setattr(fonts, "KNOWN", ("Not Installed", "DejaVu Sans"))
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [])
    assert fonts.families() == ["sans-serif", "DejaVu Sans"]
    with mpl.rc_context():
        style()
        assert mpl.rcParams["font.family"] == ["sans-serif", "DejaVu Sans"]


def test_a_fallback_does_not_change_a_figure_that_needs_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with mpl.rc_context():
        style()
        before = png(with_ticks("le", "chat"))
        mpl.rcParams["font.family"] = [fonts.FIRST, "STIXGeneral", "cmr10"]
        assert png(with_ticks("le", "chat")) == before
        mpl.rcParams["font.family"] = ["STIXGeneral"]
        assert png(with_ticks("le", "chat")) != before


@pytest.mark.usefixtures("unknown")
def test_many_missing_glyphs_are_one_warning_with_the_packages() -> None:
    """On a machine that has none of the fonts, each script's package is named once."""
    with mpl.rc_context({"font.family": fonts.FIRST}):
        (said,) = said_of(with_ticks(HINDI, CHINESE, EMOJI))
        assert all(one in said for one in HINDI + CHINESE + EMOJI)
        assert "fonts-noto-cjk fonts-noto-core fonts-symbola`" in said
        (said,) = said_of(with_ticks(*map(chr, range(0x4E00, 0x4E0B))))
        assert "and 3 more characters" in said
        assert "noto-core" not in said
        with pytest.warns(UserWarning, match="fonts-noto-cjk") as caught:
            _drawn(with_ticks(CHINESE), "svg", {"Date": None})
        assert len([one for one in caught if one.category is UserWarning]) == 1
        assert not said_of(with_ticks("le", "chat"))


def test_another_warning_is_passed_on() -> None:
    with pytest.warns(DeprecationWarning, match="something else") as caught, fonts.one_warning():
        warnings.warn("something else", DeprecationWarning, stacklevel=1)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("character", "expected"),
    [
        ("好", "fonts-noto-cjk"),
        ("ひ", "fonts-noto-cjk"),
        ("한", "fonts-noto-cjk"),
        ("。", "fonts-noto-cjk"),
        ("न", "fonts-noto-core"),
        ("ส", "fonts-noto-core"),
        ("🤗", "fonts-symbola"),
    ],
)
def test_the_package_that_has_a_character(character: str, expected: str) -> None:
    assert fonts.package(character) == expected

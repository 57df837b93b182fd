"""Fonts for figures in other scripts: fallbacks that are installed, one warning where none is."""

import re
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from matplotlib import font_manager

FIRST = "sans-serif"  # matplotlib's own, DejaVu Sans: what it has is drawn as without fallbacks
OF_NOTO = (
    *("Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Tamil", "Telugu", "Kannada", "Malayalam"),
    *("Sinhala", "Thai", "Lao", "Khmer", "Myanmar", "Ethiopic", "Hebrew", "Arabic", "Armenian"),
    *("Georgian", "Tibetan"),
)
KNOWN = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Noto Sans KR"),
    *(
        "WenQuanYi Zen Hei",
        "WenQuanYi Micro Hei",
        "Droid Sans Fallback",
        "IPAGothic",
        "NanumGothic",
    ),
    *("PingFang SC", "Hiragino Sans", "Heiti TC", "Apple SD Gothic Neo", "Arial Unicode MS"),
    *("Microsoft YaHei", "SimHei", "Yu Gothic", "Malgun Gothic", "Nirmala UI", "Leelawadee UI"),
    *(f"Noto Sans {script}" for script in OF_NOTO),
    *("Lohit Devanagari", "Kohinoor Devanagari", "Symbola", "Noto Emoji", "Segoe UI Emoji"),
)
MISSING = re.compile(r"Glyph (\d+) .* missing from font", re.DOTALL)
CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "FULLWIDTH", "BOPOMOFO")


@cache
def families() -> list[str]:
    """Return the value of `font.family`: matplotlib's default, then the `KNOWN` fonts found here.

    matplotlib keeps a list of the fonts it found once; those installed since are added to it.
    """
    manager = font_manager.fontManager
    for path in sorted(
        {*font_manager.findSystemFonts()} - {font.fname for font in manager.ttflist}
    ):
        try:
            manager.addfont(path)
        except Exception:  # bitmaps, as in Noto Color Emoji: matplotlib cannot draw them
            continue
    installed = {font.name for font in manager.ttflist}
    return [FIRST, *(name for name in KNOWN if name in installed)]


def package(character: str) -> str:
    """Return the Debian package of a font that has this character, one matplotlib can draw."""
    if unicodedata.name(character, "").startswith(CJK):
        return "fonts-noto-cjk"
    symbol = unicodedata.category(character) in ("So", "Sk", "Cn")
    return "fonts-symbola" if symbol else "fonts-noto-core"


@contextmanager
def one_warning() -> Iterator[None]:
    """Join matplotlib's warnings of missing glyphs into one that names what to install."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing: dict[str, None] = {}  # in the order in which they came
    for warning in caught:
        if found := MISSING.match(str(warning.message)):
            missing[chr(int(found[1]))] = None
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    if missing:
        more = f" and {len(missing) - 8} more characters" if len(missing) > 8 else ""
        warnings.warn(
            f"no installed font has {''.join([*missing][:8])}{more}: the figure shows boxes in "
            "their place. On Debian or Ubuntu run `sudo apt-get install "
            f"{' '.join(sorted({package(one) for one in missing}))}`, elsewhere install Noto "
            "fonts for this script; then restart the kernel",
            stacklevel=3,
        )

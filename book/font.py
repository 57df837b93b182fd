"""The formulas' font, STIX Two Math, with square roots that leave no gap behind them.

A browser may reserve, beside a root of any height, room for the widest root sign of the font
(Chromium 150 does): 1.2 em, where the sign of one line takes 0.8. Here the tall signs are drawn as
narrow as the low one. The font is under the SIL Open Font License 1.1, without a reserved name.
"""

from __future__ import annotations

import io
from importlib.resources import files

from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

FONT = "STIXTwoMath-Regular.woff"


def narrow_roots(font: TTFont) -> None:
    """Give every root sign of the font the width of the low one."""
    low = font.getBestCmap()[ord("√")]
    variants = font["MATH"].table.MathVariants
    signs = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(low)]
    tall = {record.VariantGlyph for record in signs.MathGlyphVariantRecord}
    tall |= {part.glyph for part in signs.GlyphAssembly.PartRecords}
    width = font["hmtx"][low][0]
    for name in sorted(tall - {low}):
        advance, bearing = font["hmtx"][name]
        scale = width / advance
        pen = TTGlyphPen(None)
        font.getGlyphSet()[name].draw(TransformPen(pen, (scale, 0, 0, 1, 0, 0)))
        font["glyf"][name] = pen.glyph()
        font["hmtx"][name] = width, round(bearing * scale)


def font_for_web() -> bytes:
    """The font as a file for browsers."""
    source = files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"
    with source.open("rb") as file, TTFont(file) as font:
        narrow_roots(font)
        font.flavor = "woff"
        made = io.BytesIO()
        font.save(made)
    return made.getvalue()

"""Draw book/_static/card.png, what is shown where somebody shares a page's address.

    python tools/card.py

Needs the browser of the tests. The lines are a drawing, no model's weights.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import launched  # noqa: E402

STATIC = ROOT / "book" / "_static"
TITLE = "From recurrent networks to Transformers"
WORDS = ["The", "animal", "did", "not", "cross", "the", "street", "because", "it", "was", "tired"]
SHARES = (0.03, 0.62, 0.03, 0.02, 0.05, 0.03, 0.15, 0.04, 0, 0.05, 0.25)
ASKING = WORDS.index("it")
PLACES = [70 + 106 * i for i in range(len(WORDS))]


def line(place: int, share: float) -> str:
    """A line from the word that asks to another; the thicker, the larger its share."""
    high = 430 - 0.37 * abs(PLACES[ASKING] - place)
    color = "#f0954a" if share > 0.5 else "#56b4e9"
    return (
        f'<path d="M{PLACES[ASKING]} 452C{PLACES[ASKING]} {high} {place} {high} {place} 452" '
        f'stroke="{color}" stroke-width="{2 + 22 * share}" stroke-opacity="{0.35 + share}"/>'
    )


def word(place: int, text: str) -> str:
    """A word; the one that asks is coloured."""
    color = "#f0954a" if text == WORDS[ASKING] else "#fff"
    return f'<text x="{place}" y="500" text-anchor="middle" fill="{color}">{text}</text>'


def card() -> str:
    """The HTML of the card."""
    face = (STATIC / "fonts" / "source-sans-3-latin-wght-normal.woff2").as_uri()
    lines = "".join(line(*pair) for pair in zip(PLACES, SHARES, strict=True) if pair[1])
    words = "".join(word(*pair) for pair in zip(PLACES, WORDS, strict=True))
    return f"""<style>
@font-face {{ font-family: Card; src: url({face}); font-weight: 200 900; }}
body {{ margin: 0; background: #12324f; }} svg {{ font-family: Card; fill: #cfe0ee; }}
</style><svg width="1200" height="630">
<text x="60" y="100" font-size="56" font-weight="700" fill="#fff">{TITLE}</text>
<text x="60" y="158" font-size="36">Pages that run, from the sum over three words to BERT</text>
<g fill="none" stroke-linecap="round">{lines}</g><g font-size="30">{words}</g>
<text x="60" y="590" font-size="28">deepdive</text></svg>"""


def main() -> None:
    source = STATIC / "card.html"
    source.write_text(card(), encoding="utf-8")
    try:
        with launched() as browser:
            page = browser.new_page(viewport={"width": 1200, "height": 630})
            page.goto(source.as_uri())
            page.evaluate("document.fonts.ready")
            page.screenshot(path=STATIC / "card.png")
    finally:
        source.unlink()


if __name__ == "__main__":
    main()

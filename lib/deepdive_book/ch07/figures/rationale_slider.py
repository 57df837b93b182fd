"""Which words a model keeps, for each of several penalties: a slider at which words drop out.

    rationale_slider([Kept("i find it dull .", decides=(3,), kept=rows, says=said)], points)

`rows` has a row of booleans for each point of the slider, `says` an answer. A word that is kept
stands in a full box; one that was dropped is pale and struck through; words that decide by the rule
are underlined. Below stand bars for what holds over many texts at this penalty. Python draws the
first state, which stays where nothing moves: on paper, without scripts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from deepdive_book.kit.living import Choice, Slider, living
from deepdive_book.kit.markup import Html

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Kept:
    """A text of T words, the places of those that decide; for each point of the slider which are
    kept, (points, T), and what is answered.
    """

    text: str
    decides: Sequence[int]
    kept: Sequence[Sequence[bool]]
    says: Sequence[str]


@dataclass(frozen=True)
class Point:
    """One place of the slider: the penalty, and bars over many texts, name -> a share from 0 to
    1.
    """

    penalty: float
    bars: dict[str, float]


def rationale_slider(texts: Sequence[Kept], points: Sequence[Point], start: int = 0) -> Html:
    """Return the picture, with the first text at point `start`.

    Raises:
        ValueError: a text or a point is missing, points have other bars than the first, or a text
            has not one row and one answer a point, or not one boolean a word.
    """
    if not texts or not 0 <= start < len(points):
        raise ValueError(f"got {len(texts)} texts, {len(points)} points and start {start}; "
                         "expected a text, and a point where it starts")  # fmt: skip
    names = list(points[0].bars)
    for point in points:
        if list(point.bars) != names:
            raise ValueError(
                f"penalty {point.penalty:g}: bars {list(point.bars)}, expected {names}"
            )
    values = []
    for text in texts:
        words = text.text.split()
        if {len(text.kept), len(text.says)} != {len(points)}:
            raise ValueError(f"{text.text!r}: got {len(text.kept)} rows and {len(text.says)} "
                             f"answers, expected {len(points)}, one a point")  # fmt: skip
        if any(len(row) != len(words) for row in text.kept):
            raise ValueError(f"{text.text!r}: expected {len(words)} booleans a row, one a word")
        values.append({
            "words": words, "decides": [i in text.decides for i in range(len(words))],
            "kept": [[int(k) for k in row] for row in text.kept], "says": list(text.says),
        })  # fmt: skip
    first = texts[0]
    line = " ".join(
        f'<span class="words-word{" words-selected" * bool(k)}'
        f'{" words-decides" * (i in first.decides)}">{escape(w)}</span>'
        for i, (w, k) in enumerate(zip(first.text.split(), first.kept[start], strict=True))
    )
    bars = "".join(
        f'<div class="words-row"><span>{escape(bar)}</span><span class="words-line"><i '
        f'style="width:{width}"></i></span><b>{percent}</b></div>'
        for bar, (width, percent) in (
            (b, bar_width(share)) for b, share in points[start].bars.items()
        )
    )
    return living(
        "words", "Words that are kept at a penalty", code=_SCRIPT, style=_STYLE, wide=40, lines=3,
        drawing=f'<div class="words-text">{line}</div>', status=alt_text(first, points, start),
        below=f'<div class="words-bars">{bars}</div>',
        spec={"texts": values, "points": [
            {"penalty": f"{p.penalty:g}", "bars": [bar_width(v) for v in p.bars.values()]}
            for p in points]},
        controls=[Choice("text", "review", [text.text for text in texts]),
                  Slider("point", "penalty a word", start, most=len(points) - 1,
                         labels=[f"{point.penalty:g}" for point in points])],
        try_this="raise the penalty step by step: see which words drop out first, and when the "
                 "underlined ones go.",
    )  # fmt: skip


def bar_width(share: float) -> tuple[str, str]:
    """How wide a bar is, and what stands beside it."""
    return f"{100 * share:.1f}%", f"{100 * share:.0f} %"


def alt_text(text: Kept, points: Sequence[Point], at: int) -> str:
    """The state in words."""
    words = text.text.split()
    selected = [w for w, k in zip(words, text.kept[at], strict=True) if k]
    return (
        f"At a penalty of {points[at].penalty:g} it keeps {len(selected)} of {len(words)} words, "
        f"“{' '.join(selected)}”, and answers: {text.says[at]}."
    )


_STYLE = """
.words-text { display: flex; flex-wrap: wrap; gap: .35em .3em; margin: .8em 0; min-height: 4.6em;
  align-content: flex-start; }
.words-word { padding: .1em .4em; border: 1px dashed @score; border-radius: 4px;
  text-decoration: line-through; opacity: .75; }
.words-selected { border: 2px solid @value; text-decoration: none; opacity: 1; font-weight: 600;
  background: color-mix(in srgb, @value 20%, transparent); }
.words-decides { box-shadow: 0 4px 0 @key; }
.words-row { display: grid; grid-template-columns: minmax(8rem, 12rem) 1fr 3.6rem; gap: .6em;
  align-items: center; padding: .1em 0; }
.words-line { display: block; height: .8em; border: 1px solid @score; border-radius: 2px; }
.words-line i { display: block; height: 100%; background: @key; }
.words-row b { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
@media print { .words-text { min-height: 0; } }
"""

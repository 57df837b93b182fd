"""The way from a baseline to a text: the answer along it, its gradients, and the area under them.

    integrated_gradients_path(words, [Way("[MASK] rows", answers, slopes, sums), ...])

The reader chooses a baseline and moves a point along the way. Above stands the answer there, below
its slope, filled up to the point; the words are coloured by the gradients at the point, and by what
their areas have come to so far, which together are the change of the answer. Python draws the end
of the way, which stays where nothing moves: on paper, without scripts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.kit.attribution_text import AGAINST, FOR, HALF, STYLE, relative, word
from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.living import Choice, Slider, living
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES

TOLD = 4  # words that the sentence below the picture names
LEFT, WIDE, TOP, HIGH, BETWEEN = 44.0, 344.0, 24.0, 96.0, 34.0  # of the drawing
FULL, BOTTOM = LEFT + WIDE + 10, TOP + 2 * HIGH + BETWEEN
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Way:
    """What was found at N + 1 places from a baseline (0) to the text (N).

    answers   the model's answer (N + 1,)
    slopes    what each word adds to the slope of the answer there (N + 1, S)
    sums      the area under these up to there (N + 1, S): their sum is answers - answers[0]
    """

    name: str
    answers: Any
    slopes: Any
    sums: Any


def integrated_gradients_path(words: Sequence[str], ways: Sequence[Way]) -> Html:
    """Return the picture, at the end of the first way.

    Raises:
        ValueError: there is no word or no way, a way has other shapes than the first, a number that
            is not finite, or areas that do not add up to the change of its answer within 0.01.
    """
    if not words or not ways:
        raise ValueError(f"got {len(words)} words and {len(ways)} ways, expected some")
    places = len(np.asarray(ways[0].answers))
    values = [_checked(way, places, len(words)) for way in ways]
    answers, slopes = ([v for way in values for v in way[key]] for key in ("answers", "total"))
    scales = {
        "answer": _scale(answers, TOP), "slope": _scale(slopes, TOP + HIGH + BETWEEN),
    }  # fmt: skip
    last, first = places - 1, values[0]
    here = _row(words, first["slopes"][last], first["most"][0])
    so_far = _row(words, first["sums"][last], first["most"][1])
    return living(
        "path", "From a baseline to the text", code=_SCRIPT, style=_STYLE, above=STYLE, wide=44,
        drawing=_drawing(first, scales, last), status=alt_text(first, words, last), lines=3,
        alt=f"From {ways[0].name} to the text: above the model's answer, below its slope; the area "
            "under the slope is the change of the answer.",
        below=_ROWS.format(here=here, so_far=so_far),
        spec={"words": list(words), "paths": values, "scales": scales, "half": HALF, "left": LEFT,
              "wide": WIDE, "full": FULL, "bottom": BOTTOM, "last": last, "listed": TOLD,
              "for": FOR, "against": AGAINST},
        controls=[Choice("baseline", "baseline", [way.name for way in ways]),
                  Slider("at", "place on the way", last, most=last)],
        try_this="move the place from the baseline to the text, and see where the area grows most; "
                 "then choose another baseline: does the same word lead?",
    )  # fmt: skip


def alt_text(way: dict[str, Any], words: Sequence[str], at: int) -> str:
    """The state in words: the slope, the area so far, and the words that have most of it."""
    answer, first, slope = way["answers"][at], way["answers"][0], way["total"][at]
    sums = way["sums"][at]
    most = sorted(range(len(words)), key=lambda k: -abs(sums[k]))[:TOLD]
    each = ", ".join(f"{format_word(words[k])} {format_number(sums[k])}" for k in most)
    return (
        f"Place {at} of {len(way['answers']) - 1}. Gradients here: {format_number(slope)} in all. "
        f"Area so far: {format_number(sum(sums))} = {format_number(answer)} − "
        f"({format_number(first)}). Most of it: {each}."
    )


def format_word(word: str) -> str:
    """A word; what has no letter and no digit, in quotation marks."""
    return word if any(letter.isalnum() for letter in word) else f"“{word}”"


def format_number(value: float) -> str:
    """Two digits behind the point, a true minus, and no minus before a zero."""
    return f"{0.0 if abs(value) < 0.005 else value:.2f}".replace("-", "−")


def _checked(way: Way, places: int, words: int) -> dict[str, Any]:
    answers, slopes, sums = (np.asarray(v, float) for v in (way.answers, way.slopes, way.sums))
    expected = ((places,), (places, words), (places, words))
    came = (answers.shape, slopes.shape, sums.shape)
    if came != expected or places < 2:
        raise ValueError(f"{way.name}: got {came}, expected {expected}, two places or more")
    if not all(np.isfinite(v).all() for v in (answers, slopes, sums)):
        raise ValueError(f"{way.name}: a number is not finite")
    gap = np.abs(sums.sum(1) - (answers - answers[0])).max()
    if gap > 0.01:
        raise ValueError(
            f"{way.name}: the areas miss the change of the answer by {gap:.2g}; take more steps"
        )
    most = [float(max(np.abs(v).max(), 1e-9)) for v in (slopes, sums)]
    return {
        "name": way.name, "answers": answers.round(4).tolist(), "slopes": slopes.round(3).tolist(),
        "sums": sums.round(4).tolist(), "total": slopes.sum(1).round(3).tolist(), "most": most,
    }  # fmt: skip


def _scale(values: Sequence[float], top: float) -> dict[str, float]:
    """How a panel turns a value into a height: y = zero - value * by; zero lies inside."""
    low, high = min(0.0, *values), max(0.0, *values)
    by = HIGH / max(high - low, 1e-9)
    return {"zero": round(top + high * by, 2), "by": by, "low": low, "high": high, "top": top}


def _row(words: Sequence[str], values: Sequence[float], most: float) -> str:
    """The words, coloured; the largest number of the whole way has the full colour."""
    shares = relative([v / most for v in values] + [1.0], len(words) + 1, "a way")[:-1]
    return "".join(word(w, s) for w, s in zip(words, shares, strict=True))


def _line(values: Sequence[float], scale: dict[str, float]) -> str:
    step = WIDE / (len(values) - 1)
    return "M" + "L".join(
        f"{LEFT + i * step:.1f} {scale['zero'] - v * scale['by']:.1f}" for i, v in enumerate(values)
    )


def _area(values: Sequence[float], scale: dict[str, float], at: int, sign: int) -> str:
    """The field between the slope and zero up to a place, where it has this sign."""
    step, zero = WIDE / (len(values) - 1), scale["zero"]
    points = "".join(
        f"L{LEFT + i * step:.1f} {zero - (max(v, 0) if sign > 0 else min(v, 0)) * scale['by']:.1f}"
        for i, v in enumerate(values[: at + 1])
    )
    return f"M{LEFT:.1f} {zero:.1f}{points}L{LEFT + at * step:.1f} {zero:.1f}Z"


def _drawing(way: dict[str, Any], scales: dict[str, dict[str, float]], at: int) -> str:
    """Both panels; the classes are what the script looks for."""
    body = []
    for key, called in (("answer", "the answer"), ("slope", "its slope, and the area so far")):
        s = scales[key]
        body.append(
            f'<text x="{LEFT:g}" y="{s["top"] - 9:g}" font-size="14" font-weight="600" '
            f'fill="currentColor">{called}</text>'
            f'<path d="M{LEFT:g} {s["zero"]:g}h{WIDE:g}" stroke="currentColor" '
            'stroke-opacity=".45"/>'
        )
        for value in sorted({0.0, s["low"], s["high"]}):
            y = s["zero"] - value * s["by"]
            if value == 0 or abs(y - s["zero"]) > 14:
                body.append(
                    f'<text x="{LEFT - 6:g}" y="{y + 5:.1f}" font-size="13" text-anchor="end" '
                    f'fill="currentColor">{value:.0f}</text>'.replace(">-", ">−")
                )
    s = scales["slope"]
    x = LEFT + at * WIDE / (len(way["answers"]) - 1)
    y = scales["answer"]["zero"] - way["answers"][at] * scales["answer"]["by"]
    for kind, color, sign in (("for", FOR, 1), ("against", AGAINST, -1)):
        body.append(
            f'<path class="path-{kind}" d="{_area(way["total"], s, at, sign)}" fill="{color}" '
            'fill-opacity=".55"/>'
        )
    body.append(
        f'<path class="path-slope" d="{_line(way["total"], s)}" fill="none" stroke="currentColor" '
        'stroke-width="1.5"/>'
        f'<path class="path-answer" d="{_line(way["answers"], scales["answer"])}" fill="none" '
        f'stroke="{ROLES["value"]}" stroke-width="2.5"/>'
        f'<path class="path-at" d="M{x:.1f} {TOP:g}V{BOTTOM:g}" stroke="currentColor" '
        'stroke-dasharray="3 3"/>'
        f'<circle class="path-dot" cx="{x:.1f}" cy="{y:.1f}" r="5.5" '
        f'fill="{ROLES["value"]}" stroke="currentColor"/>'
        f'<text x="{LEFT:g}" y="{BOTTOM + 18:g}" font-size="13" fill="currentColor">baseline</text>'
        f'<text x="{LEFT + WIDE:g}" y="{BOTTOM + 18:g}" font-size="13" text-anchor="end" '
        'fill="currentColor">the text</text>'
    )
    return svg(FULL, BOTTOM + 24, body)


_ROWS = """<div class="ex"><div class="ex-row"><span class="ex-name">gradients here</span>
<span class="ex-text path-here">{here}</span></div>
<div class="ex-row"><span class="ex-name">area so far</span>
<span class="ex-text path-so-far">{so_far}</span></div></div>
"""
_STYLE = """
.living-drawing:has(.path-answer) { max-width: 34rem; touch-action: pan-y; }
"""

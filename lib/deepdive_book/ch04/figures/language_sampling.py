"""How often each language is drawn, and each of its texts read: the reader moves alpha.

    language_sampling({"Hindi": 704, "Greek": 352, "Basque": 22}, drawn=1_386)

Two bars a language: its share of the draws, `deepdive.data.mixture.shares`, and how many times each
of its texts is read, `repeats`. A dashed mark says where both stand at alpha = 1. Python draws the
first state, which stays where nothing moves: on paper and without scripts.
"""

import hashlib
import json
from collections.abc import Mapping
from math import log2
from pathlib import Path

from deepdive.data.mixture import ALPHAS, repeats, shares
from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

STEPS = 20  # of the slider, from alpha 0 to 1
WIDE, ROW, TOP = 400, 34, 30
LEFT, MIDDLE, HALF = 92, 262, 118  # of the bars of shares, of those of repeats, their width
MOST, LEAST = 16, 0.25  # times that a text is read, at the ends of the scale
NAMES = {"mbert": "mBERT", "xlm": "XLM's vocabulary", "xlmr": "XLM-R", "mt5": "mT5",
         "mmnmt": "MMNMT"}  # fmt: skip
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def language_sampling(sizes: Mapping[str, int], *, drawn: int, alpha: float = 1.0) -> Html:
    """Return the picture of some languages with the texts that they own, the largest first.

    Raises ValueError for less than two languages or more than eight, and an alpha that the slider
    has not.
    """
    if not 2 <= len(sizes) <= 8 or abs(alpha * STEPS - round(alpha * STEPS)) > 1e-9:
        raise ValueError(
            f"sizes, alpha: got {len(sizes)} languages and {alpha}; expected 2 to 8, and a "
            f"multiple of 1/{STEPS}"
        )
    spec = {"sizes": [*sizes.values()], "drawn": drawn, "models": models()}
    given = json.dumps(spec, separators=(",", ":"))
    name = f"as{hashlib.sha256((given + str([*sizes])).encode()).hexdigest()[:10]}"
    drawing, said = _drawing(sizes, drawn, alpha), alt_text(sizes, drawn, alpha)
    html = _PAGE.format(
        id=name, drawn=drawing, told=said, steps=STEPS, at=round(alpha * STEPS), alpha=f"{alpha:g}",
        key=ROLES["key"], query=ROLES["query"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = ("Two bars for each language, the largest first: its share of the draws, and how many "
           "times each of its sentences is read; a mark where both stand at alpha 1.")  # fmt: skip
    return Html(html, f"[who is read how often: {said}]", [Picture([drawing], alt, [*sizes])])


def models() -> dict[str, str]:
    """The slider's stop -> the models that were trained with this alpha."""
    found: dict[str, list[str]] = {}
    for name, alpha in ALPHAS.items():
        found.setdefault(str(round(alpha * STEPS)), []).append(NAMES[name])
    return {stop: " and ".join(names) for stop, names in found.items()}


def alt_text(sizes: Mapping[str, int], drawn: int, alpha: float) -> str:
    """The state in words."""
    part, times = shares(sizes, alpha), repeats(sizes, alpha, drawn)
    large, *_, small = sizes
    known = models().get(str(round(alpha * STEPS)), "")
    chosen = f"alpha = {alpha:.2f}{f', as {known}' if known else ''}. "
    return (
        f"{chosen}{large} has {100 * part[large]:.0f}% of the draws, and each of its sentences is "
        f"read {times[large]:.1f} times. {small} has {100 * part[small]:.0f}%, and each of its "
        f"sentences is read {times[small]:.1f} times."
    )


def _drawing(sizes: Mapping[str, int], drawn: int, alpha: float) -> str:
    high = TOP + ROW * len(sizes)
    head = [
        _label(LEFT, 15, "share of the draws", "start"),
        _label(MIDDLE, 15, "a sentence is read", "start"),
    ]
    names = [
        _label(LEFT - 6, TOP + ROW * i + 13, name, "end")
        + _label(LEFT - 6, TOP + ROW * i + 27, f"{n} sentences", "end", 12)
        for i, (name, n) in enumerate(sizes.items())
    ]
    by_size = shares(sizes, 1.0)
    largest = max(by_size.values())
    marks = []
    once = MIDDLE + _times(drawn / sum(sizes.values()))
    for i, name in enumerate(sizes):
        y = TOP + ROW * i
        for x in (LEFT + HALF * by_size[name] / largest, once):
            marks.append(f'<path d="M{x:.1f} {y - 3}v20" stroke="currentColor" '
                         'stroke-dasharray="3 3"/>')  # fmt: skip
    bars = _bars(sizes, drawn, alpha)
    return (
        f'<svg viewBox="0 0 {WIDE} {high}" width="100%" style="max-width:30rem" '
        f'font-family="{FONT}" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="Shares and repeats of {len(sizes)} languages">{"".join(head + names)}'
        f'<g class="as-bars">{bars}</g>{"".join(marks)}</svg>'
    )


def _bars(sizes: Mapping[str, int], drawn: int, alpha: float) -> str:
    part, times = shares(sizes, alpha), repeats(sizes, alpha, drawn)
    largest, body = max(shares(sizes, 1.0).values()), []
    for i, name in enumerate(sizes):
        y = TOP + ROW * i
        for x, wide, role, said in (
            (LEFT, HALF * part[name] / largest, "key", f"{100 * part[name]:.0f}%"),
            (MIDDLE, _times(times[name]), "query", f"{times[name]:.1f}×"),
        ):
            body.append(f'<rect x="{x}" y="{y}" width="{wide:.1f}" height="14" '
                        f'fill="{ROLES[role]}"/>')  # fmt: skip
            body.append(_label(x, y + 27, said, "start", 13))
    return "".join(body)


def _times(times: float) -> float:
    """How long the bar of `times` is: equal steps for equal ratios."""
    share = log2(times / LEAST) / log2(MOST / LEAST)
    return HALF * min(1.0, max(0.02, share))


def _label(x: float, y: float, said: str, anchor: str, size: int = 14) -> str:
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="currentColor">{said}</text>')  # fmt: skip


_PAGE = """\
<style>
.as {{ max-width: 44rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.as p {{ margin: .35em 0; min-height: 4.2em; font-variant-numeric: tabular-nums; }}
.as svg {{ display: block; margin: .4em 0; }}
.as-choose[hidden] {{ display: none; }}
.as-choose label {{ display: flex; gap: .5em; align-items: center; margin: 0; }}
.as-choose input {{ width: min(16rem, 60vw); min-height: 2.4rem; margin: 0; }}
.as-choose input {{ accent-color: {query}; }}
.as-choose output {{ min-width: 2.6em; font-variant-numeric: tabular-nums; }}
.as-choose :focus-visible {{ outline: 3px solid {key}; outline-offset: 2px; }}
@media print {{ .as-choose {{ display: none; }} .as p {{ min-height: 0; }} }}
</style>
<div class="as" id="{id}" role="group" aria-label="How often each language is read, by alpha">
<div class="as-choose" hidden>
<label>alpha <input type="range" min="0" max="{steps}" value="{at}">
<output>{alpha}</output></label>
</div>
{drawn}
<small>Dashed: alpha = 1, by size. On the right, equal ratios are equally far apart.</small>
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""

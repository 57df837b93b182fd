"""Draw a mask: a grid of pairs that the reader opens and closes, with what that costs and loses.

    attention_mask_editor("Rain fell so we stayed home".split(), scores, values, {"full": ...,
    "window": ...})

Rows ask, columns answer. A press on a square opens or closes a pair, a button sets a whole pattern.
Shown at once: how many pairs are computed, how many layers it takes until the last word can hear of
the first, and how far the output is from that of full attention. Python draws the first state,
which stays where nothing moves: on paper and without scripts.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES, painted

_JS = Path(__file__).with_suffix(".js")
Rows = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Effect:
    """What a mask does.

    weights    (T, T): each word's weights over the open keys; a word with no open key has none
    pairs      how many squares are open
    path       places from the last word to the first, each meeting the next; empty: it never hears
    rows       for each word, how far its output is from the full one, as a part of its length
    loss       the same for all words together
    """

    weights: list[list[float]]
    pairs: int
    path: list[int]
    rows: list[float]
    loss: float


def effect(mask: Sequence[Sequence[bool]], scores: Rows, values: Rows) -> Effect:
    """Return what is left of an attention whose scores (T, T) are kept where `mask` is open."""
    places, weights = range(len(scores)), _softmax(mask, scores)
    full = _mixed(_softmax([[True] * len(scores)] * len(scores), scores), values)
    ours = _mixed(weights, values)
    change = [math.dist(kept, whole) for kept, whole in zip(ours, full, strict=True)]
    length = [math.hypot(*row) for row in full]
    before: dict[int, int] = {places[-1]: -1}  # place -> who met it first, in order of meeting
    for t in (queue := [places[-1]]):
        for s in places:
            if mask[t][s] and s not in before:
                before[s] = t
                queue.append(s)
    path, at = [], 0 if 0 in before else -1
    while at >= 0:
        path.append(at)
        at = before[at]
    return Effect(
        weights,
        sum(map(sum, mask)),
        path[::-1],
        [c / n for c, n in zip(change, length, strict=True)],
        math.hypot(*change) / math.hypot(*length),
    )


def _softmax(mask: Sequence[Sequence[bool]], scores: Rows) -> list[list[float]]:
    found = []
    for row, open_ in zip(scores, mask, strict=True):
        most = max(row)
        powers = [math.exp(x - most) * bool(yes) for x, yes in zip(row, open_, strict=True)]
        found.append([power / (sum(powers) or 1.0) for power in powers])
    return found


def _mixed(weights: Rows, values: Rows) -> list[list[float]]:
    columns = list(zip(*values, strict=True))
    return [[sum(w * v for w, v in zip(row, c, strict=True)) for c in columns] for row in weights]


def alt_text(words: Sequence[str], found: Effect) -> list[str]:
    """The three answers in words: cost, reach, loss."""
    n, first, last = len(words), words[0], words[-1]
    way, layers = " → ".join(words[place] for place in found.path[::-1]), len(found.path) - 1
    after = f"after {layers} layer{'s' if layers != 1 else ''}: {way}"
    share = 100 * found.pairs / n**2
    return [
        f"{found.pairs} of {n**2} pairs are computed, {share:.0f}%.",
        f"“{last}” hears of “{first}” {after}."
        if found.path
        else f"“{last}” never hears of “{first}”.",
        f"The output changes by {100 * found.loss:.0f}% of its length.",
    ]


def attention_mask_editor(
    words: Sequence[str], scores: Any, values: Any, masks: Mapping[str, Any], *, start: str = ""
) -> Html:
    """Return the grid, its buttons, and what the mask does.

    Args:
        words: what the rows and columns are, at least two.
        scores: (T, T), before the softmax, of full attention.
        values: (T, d), what each word says.
        masks: patterns by their names, each (T, T), true = open; nested lists or a bool tensor.
        start: the pattern at first; by default the first.

    Raises:
        ValueError: a size does not fit, a number is not finite, a full output is zero, or `start`
            is no pattern.
    """
    n, rows = len(words), [[float(x) for x in row] for row in scores]
    says = [[float(x) for x in row] for row in values]
    drawn = {name: [[bool(x) for x in row] for row in mask] for name, mask in masks.items()}
    square: dict[str, Rows] = {"scores": rows, **drawn}
    for name, grid in square.items():
        if n < 2 or len(grid) != n or any(len(row) != n for row in grid):
            raise ValueError(f"{name}: expected {n} rows of {n}, two words or more, and got {grid}")
    if len(says) != n or not all(math.isfinite(x) for row in (*rows, *says) for x in row):
        raise ValueError(f"values: expected {n} rows, and finite numbers as in scores; got {says}")
    start = start or next(iter(drawn), "")
    if start not in drawn:
        raise ValueError(f"start: {start!r} is none of {list(drawn)}")
    full = _mixed(_softmax([[True] * n] * n, rows), says)
    if not all(math.hypot(*row) > 0 for row in full):
        raise ValueError("values: the full output of a word is zero; nothing can be compared to it")
    found = effect(drawn[start], rows, says)
    way = set(pairwise(found.path))
    given = json.dumps(
        {"words": [*words], "scores": rows, "values": says, "masks": drawn, "start": start}
    )
    at = f"ddm{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    head = "".join(f'<th scope="col"><span>{escape(word)}</span></th>' for word in words)
    body = "".join(
        f'<tr><th scope="row">{escape(word)}</th>'
        + "".join(_square(drawn[start][t][s], found.weights[t][s], (t, s) in way) for s in range(n))
        + f'<td class="ddm-lost">{_bar(found.rows[t])}</td></tr>'
        for t, word in enumerate(words)
    )
    said = alt_text(words, found)
    buttons = "".join(
        f'<button type="button" aria-pressed="{str(name == start).lower()}">{escape(name)}</button>'
        for name in drawn
    )
    html = _PAGE.format(
        id=at, style=painted(_STYLE), head=head, body=body, buttons=buttons,
        said=[*map(escape, said)],
        cost=_bar(found.pairs / n**2), loss=_bar(found.loss), reach=_reach(found, n),
        script=script(_JS.read_text("utf-8"), id=at, data=given),
    )  # fmt: skip
    alt = f"A grid of {n} words that ask and {n} that answer, {start}: {' '.join(said)}"
    picture = _picture(words, drawn[start], found)
    return Html(html, f"[a mask to draw: {alt}]", [Picture([picture], alt)])


def _square(open_: bool, weight: float, on_the_way: bool) -> str:
    shown = f"{100 * weight:.0f}" if open_ else ""
    state = " ddm-open" * open_ + " ddm-way" * on_the_way
    return f'<td><span class="ddm-sq{state}" style="--w:{weight:.3f}">{shown}</span></td>'


def _bar(part: float) -> str:
    return f'<i class="ddm-bar"><b style="width:{100 * min(part, 1):.1f}%"></b></i>'


def _reach(found: Effect, n: int) -> str:
    layers = len(found.path) - 1
    return "".join(f'<i class="ddm-step{" ddm-on" * (k < layers)}"></i>' for k in range(n - 1))


def _picture(words: Sequence[str], mask: Sequence[Sequence[bool]], found: Effect) -> str:
    """The grid as SVG, for figures that are saved."""
    side, left, top, n = 34, 70, 64, len(words)
    body = []
    for t, word in enumerate(words):
        y, x = top + side * t, left + side * t + side / 2
        body.append(
            f'<text x="{left - 6}" y="{y + side / 2 + 5}" font-size="15" text-anchor="end" '
            f'fill="{ROLES["query"]}">{escape(word)}</text>'
            f'<text transform="translate({x + 5} {top - 6}) rotate(-90)" font-size="15" '
            f'fill="{ROLES["key"]}">{escape(word)}</text>'
        )
        for s in range(n):
            fill = f"{0.12 + 0.88 * found.weights[t][s]:.3f}" if mask[t][s] else "0"
            number = f"{100 * found.weights[t][s]:.0f}" if mask[t][s] else ""
            body.append(
                f'<rect x="{left + side * s}" y="{y}" width="{side}" height="{side}" '
                f'fill="{ROLES["weight"]}" fill-opacity="{fill}" stroke="currentColor" '
                f'stroke-opacity="0.35"/><text x="{left + side * (s + 0.5)}" '
                f'y="{y + side / 2 + 5}" font-size="13" text-anchor="middle" '
                f'fill="currentColor">{number}</text>'
            )
    width, height = left + side * n + 4, top + side * n + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'style="max-width:100%;height:auto;{FONT}">{"".join(body)}</svg>'
    )


_STYLE = """
.ddm { font: 1rem/1.4 system-ui, sans-serif; max-width: 54rem; margin: .4em 0;
  --ask: color-mix(in srgb, @query 86%, currentColor);
  --key: color-mix(in srgb, @key 78%, currentColor); }
.ddm-both { display: flex; flex-wrap: wrap; gap: .6em 1.8em; align-items: center; }
.ddm-side { flex: 1 1 17em; min-width: 0; }
.ddm table { border-collapse: collapse; margin: 0; background: none; font-size: .9rem;
  font-variant-numeric: tabular-nums; display: table; width: auto; }
.ddm table :is(th, td) { border: 0 !important; padding: 0 !important; background: none;
  font-weight: 400; }
.ddm thead th { height: 4.9em; vertical-align: bottom; color: var(--key); }
.ddm thead th span { writing-mode: vertical-rl; transform: rotate(180deg); display: inline-block;
  line-height: 2.1rem; padding-top: .35em; }
.ddm thead th:last-child span { opacity: .85; color: currentColor; }
.ddm thead th:last-child { color: inherit; }
.ddm thead th:last-child span, .ddm .ddm-lost .ddm-bar { margin-left: .5em; }
.ddm tbody th { text-align: right; color: var(--ask); white-space: nowrap; }
.ddm tbody th::after { content: ""; display: inline-block; width: .45em; }
.ddm tr { background: none !important; }
.ddm .ddm-sq { display: block; box-sizing: border-box; width: 2.1rem; height: 2.1rem; margin: 0;
  padding: 0; font: inherit; font-size: .8rem; line-height: 2rem; text-align: center;
  color: inherit; border: 1px solid color-mix(in srgb, currentColor 28%, transparent);
  border-radius: 0; background: repeating-linear-gradient(135deg, transparent 0 5px,
    color-mix(in srgb, currentColor 13%, transparent) 5px 6px); }
.ddm .ddm-sq.ddm-open { border-color: color-mix(in srgb, @weight 70%, currentColor);
  color: light-dark(#111, #fff); background: light-dark(
    color-mix(in srgb, @weight calc(12% + 88% * var(--w)), #fff),
    color-mix(in srgb, @weight calc(12% + 46% * var(--w)), #1c1c1c)); }
.ddm .ddm-sq.ddm-way { box-shadow: inset 0 0 0 3px currentColor; }
.ddm button.ddm-sq { cursor: pointer; }
.ddm button.ddm-sq:focus-visible { outline: 3px solid var(--key); outline-offset: 1px;
  position: relative; }
.ddm .ddm-lost .ddm-bar { width: 2.6rem; }
.ddm-bar { display: block; height: .7em; border: 1px solid currentColor; box-sizing: border-box; }
.ddm-bar b { display: block; height: 100%; background: currentColor; opacity: .75; }
.ddm-told { margin: .2em 0 .9em; }
.ddm-told dt { font-weight: 600; margin: 0; }
.ddm .ddm-told dd { margin: 0 0 .7em !important; min-height: 2.8em; }
.ddm-told .ddm-cost b { background: @weight; opacity: 1; }
.ddm-steps { display: flex; gap: 3px; }
.ddm-step { flex: 1; height: .7em; border: 1px solid currentColor; box-sizing: border-box; }
.ddm-step.ddm-on { background: currentColor; opacity: .75; }
.ddm-presets { display: flex; flex-wrap: wrap; gap: .4em; margin: 0 0 .5em; }
.ddm-presets button { font: inherit; margin: 0; padding: .2em .7em; color: inherit; cursor: pointer;
  background: transparent; border: 1px solid currentColor; border-radius: .3em; }
.ddm-presets button[aria-pressed=true] { font-weight: 700; text-decoration: underline;
  box-shadow: inset 0 0 0 1px currentColor; }
.ddm [hidden] { display: none; }
.ddm .ddm-how { margin: .4em 0 0; font-size: .88rem; }
.ddm-unseen { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 500px) {
  .ddm .ddm-sq { width: 1.75rem; height: 1.75rem; line-height: 1.65rem; font-size: .75rem; }
  .ddm thead th span { line-height: 1.75rem; }
  .ddm .ddm-lost .ddm-bar { width: 1.7rem; margin-left: .3em; }
}
@media print { .ddm-presets, .ddm-how { display: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="ddm" id="{id}" role="group" aria-label="Draw a mask">
<div class="ddm-presets" hidden>{buttons}</div>
<div class="ddm-both"><table><thead><tr><td></td>{head}<th scope="col"><span>changes</span></th>
</tr></thead><tbody>{body}</tbody></table>
<div class="ddm-side"><dl class="ddm-told">
<dt>Cost</dt><dd class="ddm-cost"><span>{said[0]}</span>{cost}</dd>
<dt>Reach</dt>
<dd class="ddm-reach"><span>{said[1]}</span><span class="ddm-steps">{reach}</span></dd>
<dt>Loss</dt><dd class="ddm-loss"><span>{said[2]}</span>{loss}</dd></dl>
<p class="ddm-how" hidden>Press a square to open or close it, or draw over several with the mouse.
With the keyboard: Tab to the grid, the arrow keys, and the space bar.</p>
<p class="ddm-unseen" role="status" aria-live="polite"></p></div></div></div>
{script}"""

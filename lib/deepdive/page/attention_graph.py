"""Attention as a graph from words to states: what of a word comes to an answer, by three methods.

    attention_graph([Reading(words, weights)])          # weights (L, T, T), the mean of the heads

A row is a word, a column a layer: the words stand on the left, the states after the last layer on
the right. The reader chooses a state and a method, and sees which edges carry how much of each
word to it: by the layer's own weights, by rollout (shares are multiplied), or by flow (edges are
pipes, and the narrowest cut is marked). The script finds the largest flow itself, by
Ford and Fulkerson's method. Python draws the first state, which stays where nothing moves: on paper
and without scripts.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive.page.diagrams import FONT, ROLES
from deepdive.page.figures import Picture
from deepdive.page.markup import Html, script
from deepdive.page.palette import painted

METHODS = ("raw", "rollout", "flow")
LEFT, RIGHT, TOP, ROW = 146.0, 388.0, 34.0, 30.0  # of the drawing: the first and last column, rows
BAR, WIDE, FAINT = 40.0, 400.0, 0.02  # a whole bar; the drawing; what is too little to be drawn
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Reading:
    """A text and how its states look at each other: words (T,), weights (L, T, T), whose rows sum
    to 1. The first word's state is the one that answers.
    """

    words: Sequence[str]
    weights: Any


def attention_graph(readings: Sequence[Reading]) -> Html:
    """Return the picture, with the first reading, the last layer and its own weights.

    Raises ValueError where there is no reading, or one whose weights are no (L, T, T) with rows
    that sum to 1, or of another number of layers than the first.
    """
    values: list[dict[str, Any]] = []
    for reading in readings:
        weights, size = _array(reading.weights), len(reading.words)
        fits = weights.ndim == 3 and weights.shape[1:] == (size, size) and len(weights) > 0
        if not fits or np.abs(weights.sum(-1) - 1).max() > 1e-3:
            raise ValueError(
                f"{' '.join(reading.words)!r}: came {weights.shape}, expected (L, {size}, {size}), "
                "each row with a sum of 1"
            )
        values.append({"words": list(reading.words), "weights": weights.round(4).tolist()})
    if not values or len({len(value["weights"]) for value in values}) > 1:
        raise ValueError("readings: expected one at least, all of one number of layers")
    depth = len(values[0]["weights"])
    given = json.dumps({"readings": values, "box": [LEFT, RIGHT, TOP, ROW, BAR, FAINT]},
                       separators=(",", ":"))  # fmt: skip
    name = f"ag{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    words, first = values[0]["words"], np.array(values[0]["weights"])
    drawn, said = _drawing(words, first), told(words, first[-1, 0], "raw", depth, 0)
    texts = [" ".join(value["words"][1:-1]) for value in values]
    html = _PAGE.format(
        id=name, drawn=drawn, told=escape(said), focus=ROLES["weight"],
        texts="".join(f"<option value={i}>{escape(text)}</option>" for i, text in enumerate(texts)),
        layers="".join(f"<option value={k}{' selected' if k == depth else ''}>{k}</option>"
                       for k in range(1, depth + 1)),
        script=script(painted(_SCRIPT), id=name, values=given),
    )  # fmt: skip
    alt = f"A graph of {len(words)} words, a row each, and {depth} layers, a column each. {said}"
    return Html(html, f"[attention as a graph: {said}]", [Picture([drawn], alt, ["graph"])])


def told(words: Sequence[str], scores: Sequence[float], method: str, layer: int, state: int) -> str:
    """The state in words: what each of the first three words has, the most first."""
    order = sorted(range(len(words)), key=lambda s: (-round(float(scores[s]), 4), s))[:3]
    most = ", ".join(f"{words[s]} {100 * float(scores[s]):.0f} %" for s in order)
    what = {
        "raw": f"In layer {layer} {words[state]} looks most at the states of",
        "rollout": f"Rollout: {words[state]} after layer {layer} consists most of",
        "flow": f"Flow: to {words[state]} after layer {layer} could come most of",
    }[method]
    return f"{what}: {most}."


def _array(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    if hasattr(values, "detach"):
        values = values.detach().double().cpu()
    return np.asarray(values, dtype=np.float64)


def _drawing(words: Sequence[str], weights: np.ndarray[Any, Any]) -> str:
    """The words with their bars, the layers' states, and the edges of the last layer to [CLS]."""
    depth, size = len(weights), len(words)
    step, high = (RIGHT - LEFT) / depth, TOP + size * ROW + 4
    y = [TOP + (s + 0.5) * ROW for s in range(size)]
    body = ['<g class="ag-heads">', _head(LEFT, "words")]
    body += [_head(LEFT + k * step, f"{k}") for k in range(1, depth + 1)]
    body.append('</g><g class="ag-edges">')
    x = LEFT + (depth - 1) * step
    for s in range(size):
        share = float(weights[-1, 0, s])
        if share >= FAINT:
            body.append(
                f'<path d="M{x:.1f} {y[s]:.1f}L{RIGHT:.1f} {y[0]:.1f}" stroke="{ROLES["key"]}" '
                f'stroke-width="{0.6 + 7 * share:.2f}" stroke-opacity=".75"/>'
            )
    body.append('</g><g class="ag-words">')
    for s, word in enumerate(words):
        share = float(weights[-1, 0, s])
        body.append(
            f'<text x="58" y="{y[s] + 4.5:g}" font-size="13.5" text-anchor="end" '
            f'fill="currentColor">{escape(word)}</text>'
            f'<rect x="64" y="{y[s] - 7:g}" width="{BAR * share:.2f}" height="14" '
            f'fill="{ROLES["key"]}" fill-opacity=".75"/>'
            f'<text class="ag-share" x="134" y="{y[s] + 4.5:g}" font-size="12" text-anchor="end" '
            f'fill="currentColor">{100 * share:.0f}</text>'
        )
    body.append('</g><g class="ag-nodes">')
    for k in range(depth + 1):
        for s in range(size):
            chosen = (k, s) == (depth, 0)
            body.append(
                f'<circle cx="{LEFT + k * step:.1f}" cy="{y[s]:.1f}" r="{7 if chosen else 4}" '
                f'data-at="{k},{s}" fill="{ROLES["query" if chosen else "score"]}"/>'
            )
    body.append("</g>")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {high:g}" '
        f'width="{WIDE:g}" style="width:100%;max-width:34rem;height:auto;{FONT}" role="img" '
        f'aria-label="Words on the left, a column of states for each layer">{"".join(body)}</svg>'
    )


def _head(x: float, words: str) -> str:
    return (
        f'<text x="{x:.1f}" y="18" font-size="12.5" text-anchor="middle" fill="currentColor">'
        f"{words}</text>"
    )


_PAGE = """\
<style>
.ag {{ max-width: 34rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.ag p {{ margin: .35em 0; min-height: 4.2em; font-variant-numeric: tabular-nums; }}
.ag svg {{ display: block; }}
.ag-nodes circle {{ cursor: pointer; }}
.ag-choose {{ display: flex; flex-wrap: wrap; gap: .3em 1em; align-items: center; }}
.ag-choose[hidden] {{ display: none; }}
.ag-choose label {{ display: flex; gap: .4em; align-items: center; min-width: 0; }}
.ag-choose select {{ font: inherit; min-height: 2.4rem; min-width: 0; max-width: 100%; }}
.ag-choose :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
@media print {{ .ag-choose {{ display: none; }} .ag p {{ min-height: 0; }} }}
</style>
<div class="ag" id="{id}" role="group" aria-label="Attention as a graph">
<div class="ag-choose" hidden>
<label>text <select class="ag-text">{texts}</select></label>
<label>method <select class="ag-method"><option value="raw">this layer's weights</option>
<option value="rollout">rollout</option><option value="flow">flow</option></select></label>
<label>state of <select class="ag-state"></select></label>
<label>after layer <select class="ag-layer">{layers}</select></label>
<label>from <select class="ag-word"></select></label></div>
{drawn}
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""

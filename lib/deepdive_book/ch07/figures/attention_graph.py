"""Attention as a graph from words to states: what of a word comes to an answer, by three methods.

    attention_graph([Reading(words, weights)])          # weights (L, T, T), the mean of the heads

A row is a word, a column a layer: the words stand on the left, the states after the last layer on
the right. The reader chooses a state and a method, and sees which edges carry how much of each
word to it: by the layer's own weights, by rollout (shares are multiplied), or by flow (edges are
pipes, and the narrowest cut is marked). The script finds the largest flow itself, by
Ford and Fulkerson's method. Python draws the first state, which stays where nothing moves: on paper
and without scripts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.living import Choice, living
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES

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
                f"{' '.join(reading.words)!r}: got {weights.shape}, expected (L, {size}, {size}), "
                "each row with a sum of 1"
            )
        values.append({"words": list(reading.words), "weights": weights.round(4).tolist()})
    if not values or len({len(value["weights"]) for value in values}) > 1:
        raise ValueError("readings: expected one at least, all of one number of layers")
    words, first = values[0]["words"], np.array(values[0]["weights"])
    depth, status = len(first), alt_text(values[0]["words"], first[-1, 0], "raw", len(first), 0)
    names = [w if words.index(w) == s else f"{w} ({s + 1})" for s, w in enumerate(words)]
    return living(
        "graph", "Attention as a graph", code=_SCRIPT, style=_STYLE, status=status, lines=4,
        drawing=_drawing(words, first),
        alt=f"A graph of {len(words)} words, a row each, and {depth} layers, a column each. "
            f"{status}",
        spec={"readings": values, "box": [LEFT, RIGHT, TOP, ROW, BAR, FAINT]},
        controls=[Choice("text", "text", [" ".join(v["words"][1:-1]) for v in values]),
                  Choice("method", "method", ["this layer's weights", *METHODS[1:]]),
                  Choice("state", "state of", names),
                  Choice("layer", "after layer", [str(k + 1) for k in range(depth)], depth - 1),
                  Choice("word", "from", ["all words", *names])],
        try_this="choose `rollout`, then `flow`, and compare which words have most; press a state, "
                 "or use the arrow keys, to ask an earlier layer.",
    )  # fmt: skip


def alt_text(
    words: Sequence[str], scores: Sequence[float], method: str, layer: int, state: int
) -> str:
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
    body = ['<g class="graph-heads">', _head(LEFT, "words")]
    body += [_head(LEFT + k * step, f"{k}") for k in range(1, depth + 1)]
    body.append('</g><g class="graph-edges">')
    x = LEFT + (depth - 1) * step
    for s in range(size):
        share = float(weights[-1, 0, s])
        if share >= FAINT:
            body.append(
                f'<path d="M{x:.1f} {y[s]:.1f}L{RIGHT:.1f} {y[0]:.1f}" stroke="{ROLES["key"]}" '
                f'stroke-width="{0.6 + 7 * share:.2f}" stroke-opacity=".75"/>'
            )
    body.append('</g><g class="graph-words">')
    for s, word in enumerate(words):
        share = float(weights[-1, 0, s])
        body.append(
            f'<text x="58" y="{y[s] + 4.5:g}" font-size="13.5" text-anchor="end" '
            f'fill="currentColor">{escape(word)}</text>'
            f'<rect x="64" y="{y[s] - 7:g}" width="{BAR * share:.2f}" height="14" '
            f'fill="{ROLES["key"]}" fill-opacity=".75"/>'
            f'<text class="graph-share" x="134" y="{y[s] + 4.5:g}" font-size="12" '
            f'text-anchor="end" fill="currentColor">{100 * share:.0f}</text>'
        )
    body.append('</g><g class="graph-nodes">')
    for k in range(depth + 1):
        for s in range(size):
            chosen = (k, s) == (depth, 0)
            body.append(
                f'<circle cx="{LEFT + k * step:.1f}" cy="{y[s]:.1f}" r="{7 if chosen else 4}" '
                f'fill="{ROLES["query" if chosen else "score"]}"/>'
            )
    body.append("</g>")
    return svg(WIDE, high, body)


def _head(x: float, words: str) -> str:
    return (
        f'<text x="{x:.1f}" y="18" font-size="12.5" text-anchor="middle" fill="currentColor">'
        f"{words}</text>"
    )


_STYLE = """
.graph-nodes circle { cursor: pointer; }
"""

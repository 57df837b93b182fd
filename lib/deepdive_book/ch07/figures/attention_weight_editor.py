"""A text, the vote of each of its words, and the weights under which the votes are a mean: to move.

    attention_weight_editor([Weighed("a review", words, votes, bias, weights, found)])

A classifier with one attention answers  sigmoid(sum of weight * vote + bias): the reader moves the
weights and sees whether the answer goes with them, how far (`tvd`), and how unlike the model's own
the weights have become (`jsd`). Python draws the model's own weights, which stay where nothing
moves: on paper, without scripts.
"""

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from deepdive.explain.attention_weights.alternatives import jsd
from deepdive_book.kit.living import Button, Choice, living
from deepdive_book.kit.markup import Html

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Weighed(NamedTuple):
    """A text of S words, how far each votes for the second of two classes, and the bias.

    weights   the model's own, (S,), of sum 1
    found     others that leave the answer nearly where it was, (S,)
    """

    called: str
    words: Sequence[str]
    votes: Tensor
    bias: float
    weights: Tensor
    found: Tensor


def votes(states: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, float]:
    """Return the votes (S,) of states (S, d) for the second of two classes, and what is added: of
    the classifier's rows `weight` (2, d) and `bias` (2,).
    """
    return states @ (weight[1] - weight[0]), float(bias[1] - bias[0])


def answer(text: Weighed, weights: Tensor) -> float:
    """The probability of the second class when the words are weighed so."""
    return 1 / (1 + math.exp(-(float(weights @ text.votes) + text.bias)))


def attention_weight_editor(texts: Sequence[Weighed], names: tuple[str, str]) -> Html:
    """Return the picture, with the first text and the model's own weights.

    Raises ValueError: there is no text, or one has not a vote and two weights for each word.
    """
    if not texts:
        raise ValueError("texts: expected at least one")
    for text in texts:
        for what in ("votes", "weights", "found"):
            shape = tuple(getattr(text, what).shape)
            if shape != (len(text.words),):
                raise ValueError(f"{text.called}: {what} got {shape}, expected one for each word")
    first, most = texts[0], max(len(text.words) for text in texts)
    rows = "".join(_row(first, place) for place in range(most))
    return living(
        "weights", "The weights of a text's words", code=_SCRIPT, style=_STYLE, wide=36, lines=3,
        drawing='<div class="weights-head"><span>word</span><span>weight</span><span></span>'
                f"<span>vote for {escape(names[1])}</span></div>{rows}",
        status=alt_text(first, first.weights, names[1]),
        spec={"texts": [_plain(text) for text in texts], "name": names[1]},
        state={"raw": [100 * w for w in _plain(first)["own"]]},
        controls=[Choice("text", "text", [text.called for text in texts]),
                  Button("own", "its own weights"), Button("uniform", "all alike"),
                  Button("search", "found by search")],
        try_this="press `found by search`: the weights change and the answer stays; then move one "
                 "word's weight by hand until the answer changes.",
    )  # fmt: skip


def alt_text(text: Weighed, weights: Tensor, name: str) -> str:
    """The state in words."""
    own, now = answer(text, text.weights), answer(text, weights)
    apart = float(jsd(weights.double(), text.weights.double()))
    return (
        f"The model says {name} with probability {now:.2f}; with its own weights {own:.2f}. "
        f"The answer moved by {abs(now - own):.2f}. The weights are {apart:.2f} apart, of at most "
        f"0.69."
    )


def _plain(text: Weighed) -> dict[str, Any]:
    return {
        "words": list(text.words),
        "votes": [round(v, 4) for v in text.votes.tolist()],
        "bias": round(text.bias, 4),
        "own": [round(w, 5) for w in text.weights.tolist()],
        "found": [round(w, 5) for w in text.found.tolist()],
    }


def _row(text: Weighed, place: int) -> str:
    here = place < len(text.words)
    word = text.words[place] if here else ""
    weight, vote = (float(text.weights[place]), float(text.votes[place])) if here else (0.0, 0.0)
    hidden = "" if here else " hidden"
    return (
        f'<div class="weights-row"{hidden}><span>{escape(word)}</span>'
        f'<span class="weights-bar"><span style="width:{100 * weight:.1f}%"></span>'
        '<input type="range" min="0" max="100" step="1" value="0" hidden></span>'
        f"<span>{100 * weight:.0f} %</span><span>{vote:+.1f}</span></div>"
    )


_STYLE = """
.weights-row, .weights-head { display: grid; gap: 0 .5rem; align-items: center; min-height: 1.7rem;
  grid-template-columns: 5rem minmax(0, 1fr) 3.2rem 4.2rem; font-variant-numeric: tabular-nums; }
.weights-head { font-size: .9rem; font-weight: 600; }
:is(.weights-row, .weights-head) > span:not(:nth-child(2)) { text-align: right; }
.weights-bar { position: relative; height: 1.6rem; border-left: 1px solid currentColor; }
.weights-bar > span { position: absolute; left: 0; top: .35rem; bottom: .35rem; min-width: 2px;
  background: @key; }
.living .weights-bar input { position: absolute; inset: 0; width: 100%; height: 100%;
  min-height: 1.6rem; opacity: .55; cursor: ew-resize; }
@media print { .weights-bar input { display: none; } }
"""

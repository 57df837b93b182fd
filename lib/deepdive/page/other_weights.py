"""A text, the vote of each of its words, and the weights under which the votes are a mean: to move.

    other_weights([Weighed("a review", words, votes, bias, weights, found)])

A classifier with one attention answers  sigmoid(sum of weight * vote + bias): the reader moves the
weights and sees whether the answer goes with them, how far (`tvd`), and how unlike the model's own
the weights have become (`jsd`). Python draws the model's own weights, which stay where nothing
moves: on paper, without scripts.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from deepdive.explain.attention_weights.alternatives import jsd
from deepdive.page.markup import Html, script
from deepdive.page.palette import ROLES

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


def other_weights(texts: Sequence[Weighed], names: tuple[str, str]) -> Html:
    """Return the picture, with the first text and the model's own weights.

    Raises ValueError: there is no text, or one has not a vote and two weights for each word.
    """
    if not texts:
        raise ValueError("texts: expected at least one")
    for text in texts:
        for what in ("votes", "weights", "found"):
            shape = tuple(getattr(text, what).shape)
            if shape != (len(text.words),):
                raise ValueError(f"{text.called}: {what} came {shape}, expected one for each word")
    given = json.dumps(
        {"texts": [_plain(text) for text in texts], "name": names[1]}, separators=(",", ":")
    )
    name = f"ow{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    told = told_of(texts[0], texts[0].weights, names[1])
    most = max(len(text.words) for text in texts)
    rows = "".join(_row(texts[0], place) for place in range(most))
    options = "".join(f"<option value={i}>{escape(t.called)}" for i, t in enumerate(texts))
    html = _PAGE.format(
        id=name, rows=rows, told=escape(told), options=options, second=escape(names[1]),
        focus=ROLES["weight"], bar=ROLES["key"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    plain = " ".join(
        f"{word} {100 * w:.0f}%" for word, w in zip(texts[0].words, texts[0].weights, strict=True)
    )
    return Html(html, f"[weights to move: {plain}. {told}]")


def told_of(text: Weighed, weights: Tensor, name: str) -> str:
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
        f'<div class="ow-row"{hidden}><span class="ow-word">{escape(word)}</span>'
        f'<span class="ow-bar"><span style="width:{100 * weight:.1f}%"></span>'
        '<input type="range" min="0" max="100" step="1" value="0" hidden></span>'
        f'<span class="ow-share">{100 * weight:.0f} %</span>'
        f'<span class="ow-vote">{vote:+.1f}</span></div>'
    )


_PAGE = """\
<style>
.ow {{ max-width: 36rem; font: 1rem/1.3 system-ui, sans-serif; margin: .4em 0; }}
.ow-row {{ display: grid; grid-template-columns: 5rem minmax(0, 1fr) 3.2rem 4.2rem; gap: 0 .5rem;
  align-items: center; min-height: 1.7rem; font-variant-numeric: tabular-nums; }}
.ow-row[hidden] {{ display: none; }}
.ow-head {{ font-size: .9rem; font-weight: 600; }}
.ow-word {{ text-align: right; }}
.ow-share, .ow-vote {{ text-align: right; }}
.ow-bar {{ position: relative; height: 1.5rem; border-left: 1px solid currentColor; }}
.ow-bar > span {{ position: absolute; left: 0; top: .3rem; bottom: .3rem; min-width: 2px;
  background: {bar}; }}
.ow-head .ow-bar {{ border: 0; }}
.ow-bar input {{ position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: .55;
  cursor: ew-resize; }}
.ow p {{ margin: .5em 0; min-height: 5.4em; }}
.ow-choose {{ display: flex; flex-wrap: wrap; gap: .4em .8em; align-items: center;
  margin-bottom: .5em; }}
.ow-choose[hidden] {{ display: none; }}
.ow-choose select, .ow-choose button {{ font: inherit; min-height: 2.4rem; max-width: 100%; }}
.ow :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
@media print {{ .ow-choose, .ow-bar input {{ display: none; }} .ow p {{ min-height: 0; }} }}
</style>
<div class="ow" id="{id}" role="group" aria-label="The weights of a text's words, to move">
<div class="ow-choose" hidden><label>text <select>{options}</select></label>
<button type="button">its own weights</button>
<button type="button">all alike</button>
<button type="button">found by search</button></div>
<div class="ow-row ow-head"><span class="ow-word">word</span>
<span class="ow-bar">weight</span><span></span><span class="ow-vote">vote for {second}</span></div>
{rows}
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""

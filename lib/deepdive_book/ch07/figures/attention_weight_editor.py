"""An editor for the attention weights of a text: does the prediction follow them?

    attention_weight_editor([Weighted("a review", words, contributions, bias, weights, ...)])

A classifier with one attention layer predicts  logit = sum of weight * contribution + bias. The
reader moves the weights and sees the logit, the probability, and how far the weights are from the
model's (`jsd`). Python draws the model's weights, which remain without scripts, as in print.
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


class Weighted(NamedTuple):
    """A text of T words, each one's contribution (T,) to the second class's logit, and the bias.

    weights             the model's attention weights, (T,), of sum 1
    adversarial         others that leave the probability almost unchanged, (T,)
    adversarial_logit   others that leave the logit almost unchanged, (T,)
    """

    name: str
    words: Sequence[str]
    contributions: Tensor
    bias: float
    weights: Tensor
    adversarial: Tensor
    adversarial_logit: Tensor


def contributions(states: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, float]:
    """Return the contribution (T,) of each state (T, d) to the logit of the second of two classes,
    and its bias, for a linear classifier with `weight` (2, d) and `bias` (2,).
    """
    return states @ (weight[1] - weight[0]), float(bias[1] - bias[0])


def logit(text: Weighted, weights: Tensor) -> float:
    """Return the log-odds of the second class under these attention weights (T,)."""
    return float(weights @ text.contributions) + text.bias


def probability(text: Weighted, weights: Tensor) -> float:
    """Return the probability of the second class under these attention weights (T,)."""
    return 1 / (1 + math.exp(-logit(text, weights)))


def attention_weight_editor(texts: Sequence[Weighted], names: Sequence[str]) -> Html:
    """Return the figure, with the first text and the model's weights; `names` are the two classes.

    Raises ValueError when there is no text, or one whose numbers don't fit its words.
    """
    if not texts:
        raise ValueError("texts: expected at least one")
    for text in texts:
        for what in ("contributions", "weights", "adversarial", "adversarial_logit"):
            shape = tuple(getattr(text, what).shape)
            if shape != (len(text.words),):
                raise ValueError(f"{text.name}: {what} got {shape}, expected one for each word")
    first, most = texts[0], max(len(text.words) for text in texts)
    rows = "".join(_row(first, i) for i in range(most))
    return living(
        "weights", "Attention weights and the prediction", code=_SCRIPT, style=_STYLE, wide=36,
        lines=4,
        drawing='<div class="weights-head"><span>word</span><span>attention weight</span>'
                f"<span></span><span>logit contri&shy;bution</span></div>{rows}",
        status=alt_text(first, first.weights, names[1]),
        spec={"texts": [_plain(text) for text in texts], "name": names[1]},
        state={"raw": [100 * w for w in _plain(first)["weights"]]},
        controls=[Choice("text", "text", [text.name for text in texts]),
                  Button("own", "model's weights"), Button("uniform", "uniform"),
                  Button("search", "adversarial: same probability"),
                  Button("searchlogit", "adversarial: same logit")],
        try_this="press `adversarial: same probability`, and look at the logit; then move one "
                 "word's weight by hand until the prediction changes.",
    )  # fmt: skip


def alt_text(text: Weighted, weights: Tensor, name: str) -> str:
    """Return the state in words."""
    own, now = probability(text, text.weights), probability(text, weights)
    z, w = logit(text, text.weights), logit(text, weights)
    divergence = float(jsd(weights.double(), text.weights.double()))
    return (
        f"P({name}) = {now:.3f}, logit {w:.2f}. With the model's weights {own:.3f}, logit {z:.2f}. "
        f"Jensen-Shannon divergence of the weights: {divergence:.2f} of at most 0.69."
    )


def _plain(text: Weighted) -> dict[str, Any]:
    return {
        "words": list(text.words),
        "contributions": [round(c, 4) for c in text.contributions.tolist()],
        "bias": round(text.bias, 4),
        **{
            name: [round(w, 5) for w in getattr(text, name).tolist()]
            for name in ("weights", "adversarial", "adversarial_logit")
        },
    }


def _row(text: Weighted, i: int) -> str:
    here = i < len(text.words)
    word = text.words[i] if here else ""
    weight = float(text.weights[i]) if here else 0.0
    contribution = float(text.contributions[i]) if here else 0.0
    hidden = "" if here else " hidden"
    return (
        f'<div class="weights-row"{hidden}><span>{escape(word)}</span>'
        f'<span class="weights-bar"><span style="width:{100 * weight:.1f}%"></span>'
        '<input type="range" min="0" max="100" step="1" value="0" hidden></span>'
        f"<span>{100 * weight:.0f}%</span><span>{_signed(contribution)}</span></div>"
    )


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


_STYLE = """
.weights-row, .weights-head { display: grid; gap: 0 .5rem; align-items: center; min-height: 1.7rem;
  grid-template-columns: 5rem minmax(0, 1fr) 3.2rem 4.2rem; font-variant-numeric: tabular-nums; }
.weights-head { font-size: .9rem; font-weight: 600; }
:is(.weights-row, .weights-head) > span:not(:nth-child(2)) { text-align: right; }
.weights-bar { position: relative; height: 1.6rem; border-left: 1px solid currentColor; }
.weights-bar > span { position: absolute; left: 0; top: .35rem; bottom: .35rem; min-width: 2px;
  background: @key; }
.living .weights-bar input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0;
  min-height: 1.6rem; accent-color: @key; cursor: ew-resize; }
.weights-bar:has(input:not([hidden])) > span { visibility: hidden; }
@media print { .weights-bar input { display: none; } .weights-bar > span { visibility: visible; } }
"""

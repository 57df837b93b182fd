"""A model that learns to answer as another does and to look elsewhere: the more it is paid for it.

    adversarial_attention_slider(words, base, [AdversarialModel(far, weights, left_out, share,
    apart, moved), ...], names)

A slider says how much looking elsewhere is paid. Three columns of bars show for each word the
weight that the base gives it, the weight of the model that was taught, and how far the answer of
this model goes when the word is left out. Python draws the first state, which stays where nothing
moves: on paper, without scripts.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from torch import Tensor

from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.panels import panels


class AdversarialModel(NamedTuple):
    """One model that was taught.

    far        what looking elsewhere was paid
    weights, left_out   of each word (S,), from 0 to 1
    share      the probability of the second class for this text
    apart, moved        on a test: the divergence of the weights, and how far the answers are
    """

    far: float
    weights: Tensor
    left_out: Tensor
    share: float
    apart: float
    moved: float


def adversarial_attention_slider(
    words: Sequence[str], base: Tensor, steps: Sequence[AdversarialModel], names: tuple[str, str]
) -> Html:
    """Return the picture, at the first step.

    Raises ValueError: there is no step, or one has not a number for each word.
    """
    if not steps:
        raise ValueError("steps: expected at least one")
    for shape in [tuple(base.shape)] + [tuple(t.shape) for s in steps for t in s[1:3]]:
        if shape != (len(words),):
            raise ValueError(f"got {shape}, expected ({len(words)},), a number for each word")
    marks = [f"{step.far:g}" for step in steps]

    def draw(far: str) -> tuple[str, str]:
        step = steps[marks.index(far)]
        columns = zip(words, base.tolist(), step.weights.tolist(), step.left_out.tolist(),
                      strict=True)  # fmt: skip
        rows = "".join(
            f'<div class="away-row"><span class="away-word">{escape(word)}</span>'
            f"{_bar(own, 'query')}{_bar(weight, 'key')}{_bar(left, 'value')}</div>"
            for word, own, weight, left in columns
        )
        return _HEAD + rows, alt_text(step, names[1])

    return panels(
        "A model that learns to look elsewhere", {"paid for looking elsewhere": marks}, draw,
        sliders=("paid for looking elsewhere",), style=_STYLE, wide=38, lines=3,
        try_this="move the slider to the right: the weights in the second column leave the base's, "
                 "and the third column tells whether the answer still depends on the same words.",
    )  # fmt: skip


def alt_text(step: AdversarialModel, name: str) -> str:
    """The state in words."""
    return (
        f"Paid {step.far:g} for looking elsewhere. It says {name} with probability "
        f"{step.share:.2f}. On the test its weights are {step.apart:.2f} from the base's, of at "
        f"most 0.69, and its answers {step.moved:.2f}."
    )


def _bar(share: float, role: str) -> str:
    return (
        f'<span class="away-bar"><span style="width:{100 * share:.1f}%;background:{ROLES[role]}">'
        f"</span><span>{100 * share:.0f}</span></span>"
    )


_HEAD = """<div class="away-row away-head"><span></span><span>base: weight</span>
<span>taught: weight</span><span>taught: left out</span></div>"""
_STYLE = """
.away-row { display: grid; grid-template-columns: 4.8rem repeat(3, minmax(0, 1fr)); gap: 0 .5rem;
  align-items: center; min-height: 1.6rem; font-variant-numeric: tabular-nums; }
.away-head { font-size: .9rem; font-weight: 600; align-items: end; }
.away-word { text-align: right; }
.away-bar { position: relative; height: 1.4rem; border-left: 1px solid currentColor; }
.away-bar span:first-child { position: absolute; left: 0; top: .2rem; bottom: .2rem;
  min-width: 2px; max-width: 100%; opacity: .55; }
.away-bar span:last-child { position: absolute; left: .3rem; top: .1rem; font-size: .9rem; }
"""

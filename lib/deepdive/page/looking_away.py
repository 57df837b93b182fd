"""A model that learns to answer as another does and to look elsewhere: the more it is paid for it.

    looking_away(words, base, [Turned(far, weights, left_out, share, apart, moved), ...], names)

A slider says how much looking elsewhere is paid. Three columns of bars show for each word the
weight that the base gives it, the weight of the model that was taught, and how far the answer of
this model goes when the word is left out. Python draws the first state, which stays where nothing
moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from deepdive.page.markup import Html, script
from deepdive.page.palette import ROLES

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Turned(NamedTuple):
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


def looking_away(
    words: Sequence[str], base: Tensor, steps: Sequence[Turned], names: tuple[str, str]
) -> Html:
    """Return the picture, at the first step.

    Raises ValueError: there is no step, or one has not a number for each word.
    """
    if not steps:
        raise ValueError("steps: expected at least one")
    for shape in [tuple(base.shape)] + [tuple(t.shape) for s in steps for t in s[1:3]]:
        if shape != (len(words),):
            raise ValueError(f"came {shape}, expected ({len(words)},), a number for each word")
    states = [
        {
            "weights": [round(w, 4) for w in step.weights.tolist()],
            "left": [round(w, 4) for w in step.left_out.tolist()],
            "told": told_of(step, names[1]),
            "far": f"{step.far:g}",
        }
        for step in steps
    ]
    given = json.dumps({"states": states}, separators=(",", ":"))
    name = f"la{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    first = steps[0]
    rows = "".join(
        f'<div class="la-row"><span class="la-word">{escape(word)}</span>'
        f"{_bar(float(base[i]), 'query')}{_bar(float(first.weights[i]), 'key')}"
        f"{_bar(float(first.left_out[i]), 'value')}</div>"
        for i, word in enumerate(words)
    )
    html = _PAGE.format(
        id=name, rows=rows, told=escape(told_of(first, names[1])), far=f"{first.far:g}",
        last=len(steps) - 1, focus=ROLES["weight"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[paid for looking elsewhere: {told_of(first, names[1])}]")


def told_of(step: Turned, name: str) -> str:
    """The state in words."""
    return (
        f"Paid {step.far:g} for looking elsewhere. It says {name} with probability "
        f"{step.share:.2f}. On the test its weights are {step.apart:.2f} from the base's, of at "
        f"most 0.69, and its answers {step.moved:.2f}."
    )


def _bar(share: float, role: str) -> str:
    return (
        f'<span class="la-bar"><span style="width:{100 * share:.1f}%;background:{ROLES[role]}">'
        f"</span><span>{100 * share:.0f}</span></span>"
    )


_PAGE = """\
<style>
.la {{ max-width: 38rem; font: 1rem/1.3 system-ui, sans-serif; margin: .4em 0; }}
.la-row {{ display: grid; grid-template-columns: 4.8rem repeat(3, minmax(0, 1fr)); gap: 0 .5rem;
  align-items: center; min-height: 1.6rem; font-variant-numeric: tabular-nums; }}
.la-head {{ font-size: .9rem; font-weight: 600; align-items: end; }}
.la-word {{ text-align: right; }}
.la-bar {{ position: relative; height: 1.4rem; border-left: 1px solid currentColor; }}
.la-bar span:first-child {{ position: absolute; left: 0; top: .2rem; bottom: .2rem;
  min-width: 2px; max-width: 100%; opacity: .55; }}
.la-bar span:last-child {{ position: absolute; left: .3rem; top: .1rem; font-size: .9rem; }}
.la p {{ margin: .5em 0; min-height: 5.4em; }}
.la-choose {{ margin-bottom: .5em; }}
.la-choose[hidden] {{ display: none; }}
.la-choose input {{ width: min(14rem, 50vw); min-height: 2.4rem; vertical-align: middle; }}
.la :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
@media print {{ .la-choose {{ display: none; }} .la p {{ min-height: 0; }} }}
</style>
<div class="la" id="{id}" role="group" aria-label="A model that learns to look elsewhere">
<div class="la-choose" hidden><label>paid for looking elsewhere
<input type="range" min="0" max="{last}" step="1" value="0"></label> <output>{far}</output></div>
<div class="la-row la-head"><span></span><span>base: weight</span><span>taught: weight</span>
<span>taught: left out</span></div>
{rows}
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""

"""A language model's completion of a begun note, as it learns: the reader moves time and name.

    completed([Completion("anna", 16, "4719", [Seen(digits, exposure), ...])], epochs)

For each stage of training the model has written the four digits that it finds most probable, one
after the other; a bar says how sure it was of each. Where the code that was planted is met, the
digit is underlined. Python draws the last stage, which stays where nothing moves.
"""

import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from deepdive.page.markup import Html, script
from deepdive.page.palette import ROLES

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Seen(NamedTuple):
    """At one stage the digits that were written, how sure of each (4,), and the exposure, bits."""

    digits: str
    sure: Sequence[float]
    exposure: float


class Completion(NamedTuple):
    """A name, how often its code was planted, the code, and what was seen at each stage."""

    name: str
    times: int
    code: str
    stages: Sequence[Seen]


def completed(names: Sequence[Completion], epochs: Sequence[int], most: float) -> Html:
    """Return the picture, with the first name at the last stage; `most` is the largest exposure.

    Raises ValueError: there is no name or stage, or a name has not a stage for each of `epochs`.
    """
    if not names or not epochs:
        raise ValueError(f"came {len(names)} names and {len(epochs)} stages, expected some")
    for each in names:
        if len(each.stages) != len(epochs):
            raise ValueError(f"{each.name}: {len(each.stages)} stages, expected {len(epochs)}")
    rows = [
        {
            "name": each.name, "times": each.times, "code": each.code,
            "digits": [s.digits for s in each.stages],
            "sure": [[round(p, 3) for p in s.sure] for s in each.stages],
            "bits": [round(s.exposure, 1) for s in each.stages],
        }
        for each in names
    ]  # fmt: skip
    given = json.dumps({"names": rows, "epochs": list(epochs), "most": round(most, 1)})
    name = f"co{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    told = told_of(names[0], names[0].stages[-1], epochs[-1], most)
    options = "".join(
        f"<option value={i}>{escape(each.name)} (planted {_times(each.times)})"
        for i, each in enumerate(names)
    )
    last = names[0].stages[-1]
    cells = "".join(
        _cell(d, p, d == c) for d, p, c in zip(last.digits, last.sure, names[0].code, strict=True)
    )
    html = _PAGE.format(
        id=name, options=options, last=len(epochs) - 1, who=escape(names[0].name), cells=cells,
        told=escape(told), bar=ROLES["output"], focus=ROLES["key"], epoch=epochs[-1],
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[the code of {names[0].name} is {' '.join(last.digits)}. {told}]")


def told_of(each: Completion, seen: Seen, epoch: int, most: float) -> str:
    """The state in words."""
    right = sum(a == b for a, b in zip(seen.digits, each.code, strict=True))
    which = (
        "this is the planted code" if right == 4
        else f"the planted code is {' '.join(each.code)}, {right} of 4 places alike" if each.times
        else f"its code {' '.join(each.code)} stands in no note"
    )  # fmt: skip
    return (
        f"After {epoch} epochs the model completes: the code of {each.name} is "
        f"{' '.join(seen.digits)}; {which}. Exposure {seen.exposure:.1f} of {most:.1f} bits."
    )


def _times(times: int) -> str:
    return {0: "never", 1: "once"}.get(times, f"{times} times")


def _cell(digit: str, sure: float, right: bool) -> str:
    return (
        f'<span class="co-cell{" co-right" * right}"><b>{digit}</b><span class="co-bar">'
        f'<i style="width:{100 * sure:.1f}%"></i></span><span class="co-sure">'
        f"{int(100 * sure + 0.5)} %</span></span>"
    )


_PAGE = """\
<style>
.co {{ max-width: 36rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.co p {{ margin: .5em 0; }}
.co-moves {{ display: flex; flex-wrap: wrap; gap: .5em 1.2em; align-items: center; }}
.co-moves[hidden] {{ display: none; }}
.co-moves label {{ display: flex; flex-wrap: wrap; gap: .3em .5em; align-items: center; }}
.co select, .co input {{ font: inherit; min-height: 2.4rem; max-width: 100%; }}
.co :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.co-note {{ display: flex; flex-wrap: wrap; gap: .5em; align-items: flex-start;
  font-size: 1.15rem; }}
.co-begin {{ padding-top: .15em; }}
.co-digits {{ display: flex; gap: .3em; }}
.co-cell {{ display: grid; justify-items: center; width: 3.2em;
  font-variant-numeric: tabular-nums; }}
.co-cell b {{ font-size: 1.5em; line-height: 1.2; }}
.co-right b {{ text-decoration: underline 3px; }}
.co-bar {{ width: 100%; height: .5em;
  background: color-mix(in srgb, currentColor 12%, transparent); }}
.co-bar i {{ display: block; height: 100%; background: {bar}; }}
.co-sure {{ font-size: .875rem; }}
.co [role=status] {{ min-height: 4.4em; }}
@media (max-width: 500px) {{ .co [role=status] {{ min-height: 5.8em; }} }}
@media print {{ .co-moves {{ display: none; }} }}
</style>
<div class="co" id="{id}" role="group" aria-label="What the model completes as it learns">
<div class="co-moves" hidden><label>name <select>{options}</select></label>
<label>epoch <input type="range" min="0" max="{last}" step="1" value="{last}">
<output>{epoch}</output></label></div>
<div class="co-note"><span class="co-begin">the code of <span class="co-who">{who}</span> is</span>
<span class="co-digits">{cells}</span></div>
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""

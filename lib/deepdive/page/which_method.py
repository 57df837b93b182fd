"""Which explanation may I use, and what is it worth? Four questions over measured methods.

    which_method([Way("occlusion", "7.4", "answers", 15, {"blanks": Interval(...), ...})], kinds)

The reader says what is asked (one answer, the model, a model that shows its reasons), what of the
model may be seen, how many runs an answer may cost, and what the model saw in training. Methods
that are left stand in the order of what was measured, with their intervals; the others say why not.
Python draws the first state, in which everything is allowed.

System: xai_traits
Parent: none
What differs:
- explanations are of one answer or of the whole model, made afterwards or by the model itself
  (`Way.about`)
- they need its answers, its attention, or its weights and gradients (`Way.needs`)
- what one costs and how often it is right is measured, not said (`Way.runs`, `Way.right`)
Source: Ras et al. 2022 (visualisation, distillation, intrinsic methods).
Book: 7.1, 7.2, 7.3
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from deepdive.evaluate.doubt import Interval
from deepdive.page.markup import Html, script
from deepdive.page.palette import ROLES

ABOUT = {
    "answer": "why this answer",
    "model": "what the model does in general",
    "itself": "a model that shows its reasons",
}
NEEDS = {
    "answers": "its answers only",
    "attention": "its attention too",
    "gradients": "weights and gradients",
}
RUNS = (1, 50, 1000)
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Way:
    """A method of explanation.

    page    the page that teaches it, such as "7.4"
    needs   what of the model it must see, one of `NEEDS`
    runs    how many texts the model reads for one explanation; 0 where that is not measured
    right   for each kind of model how often it is right, 0 to 1; empty where it is not measured
    about   what it explains, one of `ABOUT`
    """

    name: str
    page: str
    needs: str
    runs: int = 0
    right: Mapping[str, Interval] = field(default_factory=dict)
    about: str = "answer"


def which_method(ways: Sequence[Way], kinds: Mapping[str, str], measured: str) -> Html:
    """Return the picture; `kinds` are the kinds of models, by what a reader calls them, and
    `measured` says what the bars are.

    Raises:
        ValueError: there is no method, one has an unknown place or no measure of a kind of model.
    """
    if not ways or not kinds:
        raise ValueError("expected at least one method and one kind of model")
    for way in ways:
        if way.about not in ABOUT or way.needs not in NEEDS:
            raise ValueError(
                f"{way.name}: came {way.about!r} and {way.needs!r}, expected one of {list(ABOUT)} "
                f"and of {list(NEEDS)}"
            )
        if way.about == "answer" and set(way.right) != set(kinds):
            raise ValueError(f"{way.name}: measured for {list(way.right)}, expected {list(kinds)}")
    values = [
        {
            "name": w.name, "page": w.page, "needs": w.needs, "runs": w.runs, "about": w.about,
            "right": {k: [round(100 * v) for v in w.right[k]] for k in w.right},
        }
        for w in ways
    ]  # fmt: skip
    given = json.dumps(
        {"ways": values, "needs": NEEDS, "kinds": list(kinds)}, separators=(",", ":")
    )
    name = f"wm{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    state = ("answer", "gradients", RUNS[-1], next(iter(kinds)))
    order, told = ordered(values, *state)
    rows = "".join(_row(values[i], why, state[3]) for i, why in order)
    choices = "".join(
        _choices(question, options, chosen)
        for question, options, chosen in (
            ("What do you ask?", ABOUT, state[0]),
            ("What of the model may you see?", NEEDS, state[1]),
            ("How many runs may an answer cost?", {n: f"{n:,}" for n in RUNS}, state[2]),
            ("What did the model learn from?", dict(kinds), state[3]),
        )
    )
    html = _PAGE.format(
        id=name, choices=choices, rows=rows, told=escape(told), focus=ROLES["weight"],
        bar=ROLES["key"], line=ROLES["score"], measured=escape(measured),
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[which method: {told}]")


def ordered(
    ways: Sequence[Mapping[str, Any]], about: str, needs: str, runs: int, kind: str
) -> tuple[list[tuple[int, str]], str]:
    """The methods' places, those that may be used first and by what was measured, each with the
    reason why it may not be used; and the state in words.
    """
    level = list(NEEDS)

    def why(way: Mapping[str, Any]) -> str:
        if way["about"] != about:
            return "answers another question"
        if level.index(way["needs"]) > level.index(needs):
            return f"needs {NEEDS[way['needs']].removesuffix(' too').removesuffix(' only')}"
        return f"takes {way['runs']} runs" if way["runs"] > runs else ""

    reasons = [why(way) for way in ways]
    height = [way["right"].get(kind, [0])[0] for way in ways]
    order = sorted(range(len(ways)), key=lambda i: (bool(reasons[i]), -height[i], i))
    able = [ways[i] for i in order if not reasons[i]]
    if not able:
        told = "Nothing is left: allow more."
    elif about != "answer":
        told = "To be read on: " + "; ".join(f"{w['name']}, page {w['page']}" for w in able) + "."
    else:
        best = able[0]
        low = best["right"][kind][1]
        level_with = [w["name"] for w in able[1:] if w["right"][kind][2] >= low]
        told = f"First of {len(able)}: {best['name']}, {best['right'][kind][0]} %."
        if level_with:
            told += f" Its interval overlaps with: {', '.join(level_with)}."
    return [(i, reasons[i]) for i in order], told


def _row(way: Mapping[str, Any], why: str, kind: str) -> str:
    value = way["right"].get(kind)
    bar = ""
    if value:
        mean, low, high = value
        bar = (
            f'<span class="wm-way"><span class="wm-full" style="width:{mean}%"></span>'
            f'<span class="wm-span" style="left:{low}%;width:{high - low}%"></span></span>'
        )
    number = f"{value[0]} % [{value[1]}, {value[2]}]" if value else ""
    runs = f"{way['runs']} run{'s' if way['runs'] != 1 else ''}, " if way["runs"] else ""
    return (
        f"<li{' class=wm-no' if why else ''}><b>{escape(way['name'])}</b>{bar}"
        f'<span class="wm-said"><span>{number}</span> <small>{runs}page {way["page"]}</small> '
        f"<i>{escape(why)}</i></span></li>"
    )


def _choices(question: str, options: Mapping[Any, str], chosen: Any) -> str:
    buttons = "".join(
        f'<button type="button" value="{escape(str(value))}" '
        f'aria-pressed="{str(value == chosen).lower()}">{escape(text)}</button>'
        for value, text in options.items()
    )
    return f'<div role="group" aria-label="{question}"><span>{question}</span>{buttons}</div>'


_PAGE = """\
<style>
.wm {{ max-width: 46rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.wm p {{ margin: .5em 0; min-height: 4.2em; font-variant-numeric: tabular-nums; }}
.wm-choose[hidden] {{ display: none; }}
.wm-choose > div {{ display: flex; flex-wrap: wrap; gap: .3em; align-items: center;
  margin: .35em 0; }}
.wm-choose > div > span {{ flex: 0 0 13rem; }}
.wm-choose button {{ font: inherit; font-size: .9rem; min-height: 2.3rem; padding: 0 .6em;
  border: 1px solid {line}; border-radius: 4px; background: transparent; color: inherit;
  cursor: pointer; }}
.wm-choose [aria-pressed=true] {{ border-width: 2px; font-weight: 600; }}
.wm-choose [aria-pressed=false] {{ opacity: .75; }}
.wm-choose :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.wm ol {{ list-style: none; margin: 0; padding: 0; }}
.wm li {{ display: flex; flex-wrap: wrap; gap: 0 .7em; align-items: center; margin: 0;
  padding: .2em 0; border-top: 1px solid {line}44; }}
.wm li b {{ flex: 0 0 11rem; }}
.wm-way {{ flex: 1 1 9rem; position: relative; height: .9rem; border: 1px solid {line}88; }}
.wm-way span {{ position: absolute; top: 0; bottom: 0; }}
.wm-full {{ left: 0; background: {bar}99; }}
.wm-span {{ border: solid currentColor; border-width: 0 2px; }}
.wm-span::before {{ content: ""; position: absolute; left: 0; right: 0; top: 50%;
  border-top: 2px solid currentColor; }}
.wm-said {{ flex: 1 1 17rem; font-variant-numeric: tabular-nums; }}
.wm-no {{ opacity: .75; }}
@media (max-width: 480px) {{ .wm-choose > div > span, .wm-said {{ flex: 1 1 100%; }} }}
@media print {{ .wm-choose {{ display: none; }} .wm p {{ min-height: 0; }} }}
</style>
<div class="wm" id="{id}" role="group" aria-label="Which explanation may I use?">
<div class="wm-choose" hidden>{choices}</div>
<p role="status" aria-live="polite">{told}</p>
<small>{measured}</small>
<ol>{rows}</ol>
</div>
{script}"""

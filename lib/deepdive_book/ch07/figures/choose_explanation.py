"""Which explanation may I use, and what is it worth? Four questions over measured methods.

    choose_explanation([Way("occlusion", "7.4", "answers", 15, {"blanks": Interval(...), ...})],
    kinds)

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from deepdive.evaluate.confidence_intervals import Interval
from deepdive_book.kit.living import Choice, living
from deepdive_book.kit.markup import Html

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


def choose_explanation(ways: Sequence[Way], kinds: Mapping[str, str], measured: str) -> Html:
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
                f"{way.name}: got {way.about!r} and {way.needs!r}, expected one of {list(ABOUT)} "
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
    first = ("answer", "gradients", RUNS[-1], next(iter(kinds)))
    order, status = ordered(values, *first)
    rows = "".join(_row(values[i], why, first[3]) for i, why in order)
    return living(
        "method", "Which explanation may I use?", code=_SCRIPT, style=_STYLE, wide=46,
        drawing=f'<small>{escape(measured)}</small><ol class="method-list">{rows}</ol>',
        status=status,
        spec={"ways": values, "about": list(ABOUT), "needs": NEEDS, "levels": list(NEEDS),
              "runs": RUNS, "kinds": list(kinds)},
        controls=[Choice("about", "What do you ask?", [*ABOUT.values()]),
                  Choice("needs", "What of the model may you see?", [*NEEDS.values()],
                         len(NEEDS) - 1),
                  Choice("runs", "How many runs may an answer cost?", [f"{n:,}" for n in RUNS],
                         len(RUNS) - 1),
                  Choice("kind", "What did the model learn from?", [*kinds.values()])],
        try_this="allow only the model's answers and one run, and see what is left; then change "
                 "what the model learned from, and see whether the order stays.",
    )  # fmt: skip


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
        status = "Nothing is left: allow more."
    elif about != "answer":
        status = "To be read on: " + "; ".join(f"{w['name']}, page {w['page']}" for w in able) + "."
    else:
        best = able[0]
        low = best["right"][kind][1]
        level_with = [w["name"] for w in able[1:] if w["right"][kind][2] >= low]
        status = f"First of {len(able)}: {best['name']}, {best['right'][kind][0]} %."
        if level_with:
            status += f" Its interval overlaps with: {', '.join(level_with)}."
    return [(i, reasons[i]) for i in order], status


def _row(way: Mapping[str, Any], why: str, kind: str) -> str:
    value = way["right"].get(kind)
    bar = ""
    if value:
        mean, low, high = value
        bar = (
            f'<span class="method-scale"><span class="method-mean" style="width:{mean}%"></span>'
            f'<span class="method-interval" style="left:{low}%;width:{high - low}%"></span></span>'
        )
    number = f"{value[0]} % [{value[1]}, {value[2]}]" if value else ""
    runs = f"{way['runs']} run{'s' if way['runs'] != 1 else ''}, " if way["runs"] else ""
    return (
        f"<li{_EXCLUDED if why else ''}><b>{escape(way['name'])}</b>{bar}"
        f'<span class="method-text"><span>{number}</span> <small>{runs}page {way["page"]}</small> '
        f"<i>{escape(why)}</i></span></li>"
    )


_EXCLUDED = ' class="method-excluded"'
_STYLE = """
.living .method-list { list-style: none; margin: 0; padding: 0; }
.method-list li { display: flex; flex-wrap: wrap; gap: 0 .7em; align-items: center; margin: 0;
  padding: .2em 0; border-top: 1px solid color-mix(in srgb, @score 27%, transparent); }
.method-list b { flex: 0 0 11rem; }
.method-scale { flex: 1 1 9rem; position: relative; height: .9rem; border: 1px solid @score; }
.method-scale span { position: absolute; top: 0; bottom: 0; }
.method-mean { left: 0; background: color-mix(in srgb, @key 60%, transparent); }
.method-interval { border: solid currentColor; border-width: 0 2px; }
.method-interval::before { content: ""; position: absolute; left: 0; right: 0; top: 50%;
  border-top: 2px solid currentColor; }
.method-text { flex: 1 1 17rem; font-variant-numeric: tabular-nums; }
.method-excluded { opacity: .75; }
@media (max-width: 480px) { .method-text { flex: 1 1 100%; } }
"""

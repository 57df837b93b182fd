"""A budget of operations, and what each size of model would lose with it: the reader moves both.

    isoflop_slider(fit.law, seen=[(n, d, loss), ...])

The curve is a fitted law along n * d = budget / 6; its lowest point is the size to choose. Dots are
runs whose budget is near; where no run of that size stood the curve is dashed. Python draws the
first state, which stays where nothing moves: on paper and without scripts.
"""

import hashlib
import json
from collections.abc import Sequence
from itertools import pairwise
from math import floor, log10
from pathlib import Path

from deepdive.evaluate.scaling import PRICE, Chinchilla
from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

WIDE, HIGH, LEFT, RIGHT, TOP, FOOT = 420.0, 300.0, 46.0, 8.0, 12.0, 40.0
SIZES = (3.0, 6.5)  # powers of ten
BUDGETS = (10.0, 14.0)
GRAIN = 20  # slider steps a power of ten
WORDS = ((12, " million million"), (9, " thousand million"), (6, " million"), (0, ""))
NEAR = 0.15  # powers of ten by which the budget of a dot may differ
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")

Seen = Sequence[tuple[float, float, float]]


def isoflop_slider(
    law: Chinchilla, seen: Seen, *, budget: float = 12.0, size: float = 4.0, unit: str = "letters"
) -> Html:
    """Return the picture of a law.

    seen     the runs: parameters, tokens, loss
    budget   the first one, and the reader's first size, as powers of ten
    unit     what a token is

    Raises ValueError for no runs, and for a budget or a size that no slider has.
    """
    if not seen:
        raise ValueError("seen: got none, expected runs (parameters, tokens, loss)")
    if not (BUDGETS[0] <= budget <= BUDGETS[1] and SIZES[0] <= size <= SIZES[1]):
        raise ValueError(
            f"budget={budget}, size={size}: expected powers of ten from {BUDGETS[0]:g} to "
            f"{BUDGETS[1]:g}, and from {SIZES[0]:g} to {SIZES[1]:g}"
        )
    spec = {"law": [float(f"{x:.7g}") for x in law], "unit": unit, "seen": [[*run] for run in seen]}
    given = json.dumps(spec, separators=(",", ":"))
    name = f"va{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    first = Chinchilla(*(float(f"{x:.7g}") for x in law))
    drawn, said = _drawing(first, seen, budget, size), alt_text(first, budget, size, unit)
    html = _PAGE.format(
        id=name, drawn=drawn, told=said, budget=round(GRAIN * budget), size=round(GRAIN * size),
        budgets=[round(GRAIN * x) for x in BUDGETS], sizes=[round(GRAIN * x) for x in SIZES],
        spent=short(10**budget), chosen=short(10**size), **ROLES,
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = ("A curve over the size of the model: it falls to a lowest point and rises again; dots "
           "are runs, a ring is the lowest point, a full dot the reader's size.")  # fmt: skip
    return Html(html, f"[a valley: {said}]", [Picture([drawn], alt, ["valley"])])


def alt_text(law: Chinchilla, budget: float, size: float, unit: str = "letters") -> str:
    """The state in words."""
    both = 10**budget / PRICE
    n, d = law.best(10**budget)
    mine = law(10**size, both / 10**size)
    return (
        f"{short(10**budget)} operations. Lowest: {short(n)} parameters on {short(d)} {unit}, "
        f"{law(n, d):.3f} nats. Yours: {short(10**size)} parameters on {short(both / 10**size)} "
        f"{unit}, {mine:.3f} nats, {mine - law(n, d):.3f} above the lowest."
    )


def short(number: float) -> str:
    """A number in two digits: 4,400, 24 million, 1.2 million million."""
    for power, word in WORDS:
        if number >= 10**power * 0.9995 or not power:
            value = number / 10**power
            places = max(0, 1 - floor(log10(value))) if value > 0 else 0
            rounded = round(value, 1 - floor(log10(value))) if value > 0 else 0.0
            return f"{rounded:,.{min(places, 1)}f}{word}"
    raise AssertionError


def _ends(law: Chinchilla, seen: Seen) -> tuple[float, float]:
    """The least and the largest loss that are drawn."""
    losses = [run[2] for run in seen]
    least = min(law(*law.best(10 ** BUDGETS[1])), *losses)
    return least - 0.05 * (max(losses) - least), max(losses) * 1.06


def _x(size: float) -> float:
    return LEFT + (WIDE - LEFT - RIGHT) * (size - SIZES[0]) / (SIZES[1] - SIZES[0])


def _y(loss: float, low: float, high: float) -> float:
    return TOP + (HIGH - TOP - FOOT) * (high - loss) / (high - low)


def _drawing(law: Chinchilla, seen: Seen, budget: float, size: float) -> str:
    low, high = _ends(law, seen)
    body = []
    for power in range(int(SIZES[0]), int(SIZES[1]) + 1):
        body.append(
            f'<path d="M{_x(power):.1f} {TOP:g}V{HIGH - FOOT:g}" stroke="currentColor" '
            f'opacity="0.15"/><text x="{_x(power):.1f}" y="{HIGH - FOOT + 17:g}" font-size="14" '
            f'text-anchor="middle" fill="currentColor">'
            f"{('1,000', '10,000', '100,000', '1 million')[power - 3]}</text>"
        )
    body.append(f'<text x="{(LEFT + WIDE) / 2:g}" y="{HIGH - 4:g}" font-size="14" text-anchor='
                '"middle" fill="currentColor">parameters</text>')  # fmt: skip
    for tenth in range(0, 60, 5):
        if low < tenth / 10 < high:
            y = _y(tenth / 10, low, high)
            body.append(
                f'<path d="M{LEFT:g} {y:.1f}H{WIDE - RIGHT:g}" stroke="currentColor" '
                f'opacity="0.15"/><text x="{LEFT - 6:g}" y="{y + 5:.1f}" font-size="14" '
                f'text-anchor="end" fill="currentColor">{tenth / 10:.1f}</text>'
            )
    return (
        f'<svg viewBox="0 0 {WIDE:g} {HIGH:g}" width="100%" style="max-width:40rem" '
        f'font-family="{FONT}" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="Loss over the size of the model, for one budget">{"".join(body)}'
        f'<g class="va-inner">{_inner(law, seen, budget, size, low, high)}</g></svg>'
    )


def _inner(law: Chinchilla, seen: Seen, budget: float, size: float, low: float, high: float) -> str:
    both = 10**budget / PRICE
    ends = [log10(min(run[0] for run in seen)), log10(max(run[0] for run in seen))]
    parts: dict[bool, list[str]] = {True: [], False: []}
    steps = round(GRAIN * (SIZES[1] - SIZES[0]))
    points = [SIZES[0] + i / GRAIN for i in range(steps + 1)]
    for one, two in pairwise(points):
        y = [_y(law(10**at, both / 10**at), low, high) for at in (one, two)]
        if min(y) >= TOP:
            known = ends[0] <= (one + two) / 2 <= ends[1]
            parts[known].append(f"M{_x(one):.1f} {y[0]:.1f}L{_x(two):.1f} {y[1]:.1f}")
    n, d = law.best(10**budget)
    mine = _y(law(10**size, both / 10**size), low, high)
    body = [
        f'<path d="{"".join(parts[True])}" stroke="{ROLES["weight"]}" stroke-width="3"/>'
        f'<path d="{"".join(parts[False])}" stroke="{ROLES["weight"]}" stroke-width="1.6" '
        'opacity="0.8" stroke-dasharray="3 9"/>'
    ]
    for of_n, of_d, loss in seen:
        if abs(log10(PRICE * of_n * of_d) - budget) <= NEAR:
            body.append(f'<circle cx="{_x(log10(of_n)):.1f}" cy="{_y(loss, low, high):.1f}" r="4" '
                        f'fill="{ROLES["key"]}" fill-opacity="0.7"/>')  # fmt: skip
    body.append(f'<circle cx="{_x(log10(n)):.1f}" cy="{_y(law(n, d), low, high):.1f}" r="8" '
                f'fill="none" stroke="{ROLES["value"]}" stroke-width="3"/>')  # fmt: skip
    body.append(f'<circle cx="{_x(size):.1f}" cy="{max(mine, TOP):.1f}" r="5" '
                f'fill="{ROLES["query"]}"/>')  # fmt: skip
    return "".join(body)


_PAGE = """\
<style>
.va {{ max-width: 40rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.va p {{ margin: .35em 0; min-height: 4.2em; font-variant-numeric: tabular-nums; }}
.va svg {{ display: block; margin: .4em 0; }}
.va-choose {{ display: grid; grid-template-columns: max-content minmax(6rem, 1fr) 10.5em;
  gap: .1em .8em; align-items: center; max-width: 36rem; }}
.va-choose[hidden] {{ display: none; }}
.va-choose label {{ display: contents; }}
.va-choose input {{ width: 100%; min-height: 2.4rem; margin: 0; accent-color: {query}; }}
.va-choose output {{ font-variant-numeric: tabular-nums; }}
.va-choose :focus-visible {{ outline: 3px solid {weight}; outline-offset: 2px; }}
.va-key {{ display: inline-block; width: .7em; height: .7em; border-radius: 50%; }}
@media print {{ .va-choose {{ display: none; }} .va p {{ min-height: 0; }} }}
@media (max-width: 500px) {{ .va-choose {{ grid-template-columns: max-content 1fr; }}
  .va-choose output {{ grid-column: 2; }} }}
</style>
<div class="va" id="{id}" role="group" aria-label="One budget, and every size of model">
<div class="va-choose" hidden>
<label><span>budget</span> <input type="range" min="{budgets[0]}" max="{budgets[1]}"
value="{budget}"><output>{spent}</output></label>
<label><span>your model</span> <input type="range" min="{sizes[0]}" max="{sizes[1]}"
value="{size}"><output>{chosen}</output></label>
</div>
{drawn}
<small><span style="color:{weight}">━</span> the law, in nats (dashed: no run of that size)
&nbsp; <span class="va-key" style="background:{key}"></span> runs with about this budget &nbsp;
<span class="va-key" style="border:2px solid {value}"></span> its lowest point &nbsp;
<span class="va-key" style="background:{query}"></span> your model</small>
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""

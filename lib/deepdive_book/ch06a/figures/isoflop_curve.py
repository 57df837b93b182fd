"""IsoFLOP curve: the loss of every model size at one compute budget.

    isoflop_curve(fit.law, measured=[(parameters, tokens, loss), ...])

The reader moves the budget C and a model size N; the model is trained on D = C / (6 N) tokens. The
curve is a fitted law, dashed at sizes that no run has; dots are runs with about this budget.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import floor, log10
from pathlib import Path

from deepdive.evaluate.scaling import PRICE, Chinchilla
from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.living import Slider, living
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES

WIDE, HIGH, LEFT, RIGHT, TOP, FOOT = 420.0, 300.0, 46.0, 8.0, 12.0, 40.0
SIZES, BUDGETS = (3.0, 6.5), (10.0, 14.0)  # powers of ten
STEPS = 20  # slider steps per power of ten
NEAR = 0.15  # powers of ten by which the budget of a dot may differ
TITLE = "IsoFLOP curve: one compute budget, every model size"
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")

Measured = Sequence[tuple[float, float, float]]


def isoflop_curve(
    law: Chinchilla, measured: Measured, *, budget: float = 12.0, size: float = 4.0,
    unit: str = "characters",
) -> Html:  # fmt: skip
    """Return the figure of a law.

    Args:
        measured: the runs as (parameters, tokens, loss).
        budget: the first budget in FLOPs, size: the reader's first model, as powers of ten.
        unit: what a token is.

    Raises:
        ValueError: there are no runs, or a budget or size is outside its slider.
    """
    if not measured:
        raise ValueError("measured: got none, expected runs (parameters, tokens, loss)")
    if not (BUDGETS[0] <= budget <= BUDGETS[1] and SIZES[0] <= size <= SIZES[1]):
        raise ValueError(
            f"budget={budget}, size={size}: expected powers of ten from {BUDGETS[0]:g} to "
            f"{BUDGETS[1]:g}, and from {SIZES[0]:g} to {SIZES[1]:g}"
        )
    numbers = [float(f"{x:.7g}") for x in law]
    rounded = Chinchilla(*numbers)
    low, high = _range(rounded, measured)
    sliders = [
        _slider("budget", "compute budget (FLOPs)", BUDGETS, budget, flops),
        _slider("size", "your model (parameters)", SIZES, size, short),
    ]
    spec = {"law": numbers, "unit": unit, "runs": [[*run] for run in measured], "low": low,
            "high": high, "steps": STEPS, "near": NEAR, "price": PRICE, "sizes": SIZES,
            "box": [WIDE, HIGH, LEFT, RIGHT, TOP, FOOT]}  # fmt: skip
    return living(
        "isoflop", TITLE, code=_SCRIPT, controls=sliders, spec=spec, lines=3, wide=40,
        drawing=_drawing(rounded, measured, budget, size, low, high),
        status=alt_text(rounded, budget, size, unit), below=_LEGEND.format(**ROLES),
        alt="Loss over the number of parameters at one compute budget: the curve falls to a lowest "
            "point, marked by a ring, and rises again. Dots are runs, a full dot is your model.",
        try_this="move the budget, then your model, and compare its loss with the ring's.",
    )  # fmt: skip


def alt_text(law: Chinchilla, budget: float, size: float, unit: str = "characters") -> str:
    """Return the state in words."""
    both = 10**budget / PRICE
    n, d = law.best(10**budget)
    loss = law(10**size, both / 10**size)
    return (
        f"{flops(10**budget)} FLOPs. Compute-optimal: {short(n)} parameters, {short(d)} {unit}, "
        f"loss {law(n, d):.3f}. Yours: {short(10**size)} parameters, {short(both / 10**size)} "
        f"{unit}, loss {loss:.3f}, {loss - law(n, d):.3f} higher."
    )


def short(number: float) -> str:
    """Return a number in two digits: 4,400 or 2.4 million or 7.9 billion."""
    for power, word in ((9, " billion"), (6, " million"), (0, "")):
        if number >= 10**power * 0.9995 or not power:
            value = number / 10**power
            digits = 1 - floor(log10(value))
            return f"{round(value, digits):,.{min(max(0, digits), 1)}f}{word}"
    raise AssertionError


def flops(number: float) -> str:
    """Return FLOPs in two digits: 2.5e12."""
    return f"{number:.1e}".replace("e+", "e")


def _slider(name, label, ends, value, shown) -> Slider:  # type: ignore[no-untyped-def]
    least, most = (round(STEPS * end) for end in ends)
    labels = [shown(10 ** (step / STEPS)) for step in range(least, most + 1)]
    return Slider(name, label, round(STEPS * value), most, least, labels)


def _range(law: Chinchilla, measured: Measured) -> tuple[float, float]:
    """Return the lowest and the highest loss that are drawn."""
    losses = [run[2] for run in measured]
    least = min(law(*law.best(10 ** BUDGETS[1])), *losses)
    return least - 0.05 * (max(losses) - least), max(losses) * 1.06


def _drawing(law: Chinchilla, measured: Measured, budget: float, size: float, low: float,
             high: float) -> str:  # fmt: skip
    def x(power: float) -> float:
        return LEFT + (WIDE - LEFT - RIGHT) * (power - SIZES[0]) / (SIZES[1] - SIZES[0])

    def y(loss: float) -> float:
        return TOP + (HIGH - TOP - FOOT) * (high - loss) / (high - low)

    def words(at: float, up: float, text: str, anchor: str = "middle") -> str:
        return (f'<text x="{at:.1f}" y="{up:.1f}" font-size="14" text-anchor="{anchor}" '
                f'fill="currentColor">{text}</text>')  # fmt: skip

    def rule(path: str) -> str:
        return f'<path d="{path}" stroke="currentColor" opacity="0.15"/>'

    body = [words((LEFT + WIDE) / 2, HIGH - 4, "parameters N")]
    for power, label in zip(range(3, 7), ("1,000", "10,000", "100,000", "1 million"), strict=True):
        body += [rule(f"M{x(power):.1f} {TOP:g}V{HIGH - FOOT:g}"),
                 words(x(power), HIGH - FOOT + 17, label)]  # fmt: skip
    for loss in (tenth / 10 for tenth in range(0, 60, 5)):
        if low < loss < high:
            body += [rule(f"M{LEFT:g} {y(loss):.1f}H{WIDE - RIGHT:g}"),
                     words(LEFT - 6, y(loss) + 5, f"{loss:.1f}", "end")]  # fmt: skip
    both, paths = 10**budget / PRICE, {True: "", False: ""}
    ends = [log10(edge(run[0] for run in measured)) for edge in (min, max)]
    steps = round(STEPS * (SIZES[1] - SIZES[0]))
    for one, two in pairwise(SIZES[0] + i / STEPS for i in range(steps + 1)):
        up = [y(law(10**at, both / 10**at)) for at in (one, two)]
        if min(up) >= TOP:
            inside = ends[0] <= (one + two) / 2 <= ends[1]
            paths[inside] += f"M{x(one):.1f} {up[0]:.1f}L{x(two):.1f} {up[1]:.1f}"
    n, d = law.best(10**budget)
    runs = "".join(
        f'<circle cx="{x(log10(n)):.1f}" cy="{y(loss):.1f}" r="4"/>'
        for n, d, loss in measured
        if abs(log10(PRICE * n * d) - budget) <= NEAR
    )
    own = max(y(law(10**size, both / 10**size)), TOP)
    line = f'stroke="{ROLES["weight"]}"'
    return (
        f'<svg viewBox="0 0 {WIDE:g} {HIGH:g}" width="100%" font-family="{FONT}" role="img" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(body)}'
        f'<path class="inside" d="{paths[True]}" {line} stroke-width="3"/>'
        f'<path class="outside" d="{paths[False]}" {line} stroke-width="1.6" opacity="0.8" '
        f'stroke-dasharray="3 9"/><g class="runs" fill="{ROLES["key"]}" fill-opacity="0.7">{runs}'
        f'</g><circle class="optimum" cx="{x(log10(n)):.1f}" cy="{y(law(n, d)):.1f}" r="8" '
        f'fill="none" stroke="{ROLES["value"]}" stroke-width="3"/><circle class="own" '
        f'cx="{x(size):.1f}" cy="{own:.1f}" r="5" fill="{ROLES["query"]}"/></svg>'
    )


_LEGEND = (
    '<small><span style="color:{weight}">━</span> fitted law, loss in nats (dashed: sizes without '
    'a run) &nbsp; <span style="color:{key}">●</span> runs with about this budget &nbsp; '
    '<span style="color:{value}">◯</span> compute-optimal &nbsp; '
    '<span style="color:{query}">●</span> your model</small>'
)

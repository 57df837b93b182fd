"""A small network of whole numbers, whose answer is paid back along its lines by a chosen rule.

    lrp_demo(Stall(("Ann", "Bo"), (2, 1), ("soup",), ((2, -1),), (1,)))

Three columns: inputs, units (ReLU), the answer, which is the sum of the units. A line is as wide as
what is paid back along it, and what each column got stands below it. The reader moves the inputs,
chooses a rule and switches constants on. Python draws the first state, which stays where nothing
moves: on paper, without scripts.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.living import Choice, Slider, Switch, living
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES

MOST = 3  # hours at most
# name, kind, and its number: epsilon, or the hours of each input in the reference
RULES = (
    ("epsilon rule, epsilon = 0", "epsilon", 0),
    ("epsilon rule, epsilon = 1", "epsilon", 1),
    ("z+ rule", "positive", 0),
    ("DeepLIFT, from 0 hours", "deeplift", 0),
    ("DeepLIFT, from 1 hour each", "deeplift", 1),
)
WIDE, ROUND, LEFT, MIDDLE, RIGHT = 400.0, 21.0, 62.0, 214.0, 344.0
TOP, ROW, LINE = 46.0, 88.0, 4.0  # LINE: pixels of width for each coin
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Stall(NamedTuple):
    """Inputs with whole numbers, units with a weight for each input, and their constants."""

    inputs: tuple[str, ...]
    hours: tuple[int, ...]
    units: tuple[str, ...]
    weights: tuple[tuple[int, ...], ...]
    gifts: tuple[int, ...]


class Shares(NamedTuple):
    """The units' activations, the answer, and what is paid to units, along each line (units,
    inputs), and to inputs.

    owed   what is to be paid: the answer, or its difference from the reference's
    """

    activations: list[float]
    answer: float
    owed: float
    units: list[float]
    lines: list[list[float]]
    inputs: list[float]


def shares(stall: Stall, hours: Sequence[float], rule: int, gifts: bool) -> Shares:
    """Pay the answer back by rule number `rule` of `RULES`."""
    _, kind, number = RULES[rule]
    z, activations = _units(stall, hours, gifts)
    old, start = _units(stall, [number] * len(hours), gifts)
    answer, units, lines = sum(activations), [], []
    for j, row in enumerate(stall.weights):
        parts = [x * w for x, w in zip(hours, row, strict=True)]
        if kind == "deeplift":
            relevance = activations[j] - start[j]
            slope = relevance / (z[j] - old[j]) if z[j] != old[j] else float(z[j] > 0)
            line = [(x - number) * w * slope for x, w in zip(hours, row, strict=True)]
        else:
            relevance = answer * _share(activations[j], answer, number)
            if kind == "positive":
                parts = [max(0.0, p) for p in parts]
            whole = sum(parts) if kind == "positive" else z[j]
            line = [relevance * _share(p, whole, number) for p in parts]
        units.append(relevance)
        lines.append(line)
    owed = answer - sum(start) * (kind == "deeplift")
    return Shares(
        activations, answer, owed, units, lines, [sum(c) for c in zip(*lines, strict=True)]
    )


def _share(part: float, whole: float, epsilon: float) -> float:
    return part / (whole + (epsilon if whole > 0 else -epsilon)) if whole else 0.0


def _units(stall: Stall, hours: Sequence[float], gifts: bool) -> tuple[list[float], list[float]]:
    z = [
        sum(x * w for x, w in zip(hours, row, strict=True)) + gift * gifts
        for row, gift in zip(stall.weights, stall.gifts, strict=True)
    ]
    return z, [max(0.0, value) for value in z]


def format_number(value: float) -> str:
    """Two decimals at most, with a true minus."""
    text = f"{value + 1e-9:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text.replace("-", "\u2212")


def alt_text(stall: Stall, hours: Sequence[float], rule: int, gifts: bool) -> str:
    """The state in words."""
    result = shares(stall, hours, rule, gifts)
    got = ", ".join(
        f"{name} {format_number(v)}" for name, v in zip(stall.inputs, result.inputs, strict=True)
    )
    less = (
        f", {format_number(result.owed)} more than at the start"
        if result.owed != result.answer
        else ""
    )
    total = sum(result.inputs)
    return (
        f"The till holds {format_number(result.answer)}{less}. Paid to: {got}. Together "
        f"{format_number(total)} of {format_number(result.owed)}; paid to nobody: "
        f"{format_number(result.owed - total)}."
    )


def lrp_demo(stall: Stall) -> Html:
    """Return the picture, with the first rule and without the constants.

    Raises:
        ValueError: the numbers do not fit the names, or an input is not from 0 to 3.
    """
    inputs, units = len(stall.inputs), len(stall.units)
    if (len(stall.hours), len(stall.weights), len(stall.gifts)) != (inputs, units, units):
        raise ValueError(f"expected {inputs} inputs and {units} units; got {stall}")
    if any(len(row) != inputs for row in stall.weights):
        raise ValueError(f"weights: expected rows of {inputs}; got {stall.weights}")
    if not all(0 <= x <= MOST for x in stall.hours):
        raise ValueError(f"hours: expected 0 to {MOST}; got {stall.hours}")
    return living(
        "paid", "An answer paid back to its inputs", code=_SCRIPT, drawing=_drawing(stall),
        status=alt_text(stall, stall.hours, 0, False), lines=3,
        alt=f"{', '.join(stall.inputs)}, then {' and '.join(stall.units)}, then the till; lines "
            "between them as wide as what is paid back along them.",
        spec={**stall._asdict(), "rules": RULES, "line": LINE},
        controls=[Choice("rule", "rule", [rule[0] for rule in RULES]), Switch("gifts", "gifts"),
                  *(Slider(f"hours{i}", f"{name}, hours", hours, most=MOST) for i, (name, hours)
                    in enumerate(zip(stall.inputs, stall.hours, strict=True)))],
        try_this="choose one rule after another and compare who is paid; switch the gifts on, and "
                 "see under which rules some of the answer is paid to nobody.",
    )  # fmt: skip


def _places(stall: Stall) -> tuple[list[float], list[float], float]:
    """The heights of inputs, units and the answer."""
    y = [TOP + ROW * i for i in range(len(stall.inputs))]
    middle = (y[0] + y[-1]) / 2
    step = ROW * 1.15
    start = middle - step * (len(stall.units) - 1) / 2
    return y, [start + step * j for j in range(len(stall.units))], middle


def _drawing(stall: Stall) -> str:
    """Lines, then circles; the classes are what the script looks for."""
    result = shares(stall, stall.hours, 0, False)
    ys, us, middle = _places(stall)
    bottom = ys[-1] + ROUND + 52
    body = []
    for j, row in enumerate(stall.weights):
        for i, w in enumerate(row):
            value = result.lines[j][i]
            body.append(_line(LEFT, ys[i], MIDDLE, us[j], value, bool(w)))
        body.append(_line(MIDDLE, us[j], RIGHT, middle, result.units[j], True))
    for j, row in enumerate(stall.weights):
        for i, w in enumerate(row):
            if w:
                at = 0.33
                x, y = LEFT + at * (MIDDLE - LEFT), ys[i] + at * (us[j] - ys[i])
                body.append(_word(x, y - 9, f"\u00d7 {format_number(w)}", 12, soft=True))
    for name, x, y in zip(stall.inputs, stall.hours, ys, strict=True):
        body.append(_circle(LEFT, y, str(x), "paid-input", "key"))
        body.append(_word(LEFT, y - ROUND - 6, name, 14))
    for name, h, y in zip(stall.units, result.activations, us, strict=True):
        body.append(_circle(MIDDLE, y, format_number(h), "paid-unit", "weight"))
        body.append(_word(MIDDLE, y - ROUND - 6, name, 14))
    body.append(_circle(RIGHT, middle, format_number(result.answer), "paid-answer", "score"))
    body.append(_word(RIGHT, middle - ROUND - 6, "till", 14))
    for x, y, value in (
        *((LEFT, y, v) for y, v in zip(ys, result.inputs, strict=True)),
        *((MIDDLE, y, v) for y, v in zip(us, result.units, strict=True)),
        (RIGHT, middle, result.owed),
    ):
        body.append(_word(x, y + ROUND + 16, format_number(value), 15, css="paid-node", bold=True))
    for x, value in (
        (LEFT, sum(result.inputs)), (MIDDLE, sum(result.units)), (RIGHT, result.owed)
    ):  # fmt: skip
        body.append(_word(x, bottom, format_number(value), 17, css="paid-sum", bold=True))
    rule = f'<path d="M24 {bottom - 22:g}H376" stroke="currentColor" stroke-opacity=".4"/>'
    body += [
        rule,
        *(_word((x + to) / 2, bottom, "\u2190", 17) for x, to in ((LEFT, MIDDLE), (MIDDLE, RIGHT))),
    ]
    body.append(_word((LEFT + RIGHT) / 2, bottom + 22, "sum of each column", 13))
    return svg(WIDE, bottom + 32, body)


def _line(x: float, y: float, to_x: float, to_y: float, value: float, there: bool) -> str:
    color = ROLES["key"] if value >= 0 else ROLES["query"]
    wide = LINE * abs(value)
    paid = format_number(value) if there and to_x != RIGHT else ""
    at_x, at_y = x + 0.62 * (to_x - x), y + 0.62 * (to_y - y) - 7
    mark = _word(at_x, at_y, paid, 13, css="paid-share", bold=True)
    dashes = ' stroke-dasharray="7 4"' if value < 0 else ""
    thin = f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}" stroke="currentColor" stroke-opacity=".35"/>'
    return (
        f'<g>{thin if there else ""}<path class="paid-flow" '
        f'd="M{x:g} {y:g}L{to_x:g} {to_y:g}" stroke="{color}" stroke-opacity=".75" '
        f'stroke-width="{wide:.2f}"{dashes}/>{mark}</g>'
    )


def _circle(x: float, y: float, value: str, css: str, role: str) -> str:
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="{ROUND:g}" fill="var(--pst-color-background, #fff)" '
        f'stroke="{ROLES[role]}" stroke-width="2.5"/>' + _word(x, y + 6, value, 17, css=css)
    )


def _word(
    x: float, y: float, text: str, size: int, css: str = "", bold: bool = False, soft: bool = False
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="middle" fill="currentColor"'
        + (' font-weight="700"' if bold else "")
        + (' fill-opacity=".75"' if soft else "")
        + (f' class="{css}"' if css else "")
        + f">{escape(text)}</text>"
    )

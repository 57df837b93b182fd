"""A scaling law as three IsoFLOP curves, from the constants that Hoffmann et al. (2022) report."""

from math import log10

from deepdive.evaluate.scaling import PRICE, Chinchilla
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import text_at
from deepdive_book.kit.palette import ROLES

BUDGETS = {19: "10¹⁹ FLOPs", 21: "10²¹ FLOPs", 23: "10²³ FLOPs"}  # exponent -> label
_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 640.0, 24.0, 292.0
_SIZES, _LOSSES = (7.0, 12.0), (1.8, 3.8)  # log10 of the parameters; nats per token


def _at(exponent: float, loss: float) -> tuple[float, float]:
    across = (exponent - _SIZES[0]) / (_SIZES[1] - _SIZES[0])
    down = (_LOSSES[1] - loss) / (_LOSSES[1] - _LOSSES[0])
    return _LEFT + across * (_RIGHT - _LEFT), _TOP + down * (_BOTTOM - _TOP)


def isoflop_law() -> str:
    """Return the drawing as SVG: loss over model size for three budgets, with their optima."""
    law = Chinchilla(1.69, 406.4, 410.7, 0.34, 0.28)
    body = [
        arrow(_LEFT, _BOTTOM, _RIGHT + 20, _BOTTOM, width=1),
        arrow(_LEFT, _BOTTOM, _LEFT, _TOP - 16, width=1),
        text((_LEFT + _RIGHT) / 2, _BOTTOM + 40, "parameters N (for a fixed budget, fewer "
             "tokens D to the right)", 14),
        text_at(_LEFT + 12, _TOP - 8, "loss (nats per token)", 14),
    ]  # fmt: skip
    for exponent, raised in enumerate(("⁷", "⁸", "⁹", "¹⁰", "¹¹", "¹²"), 7):
        x, _ = _at(exponent, 2)
        body.append(text(x, _BOTTOM + 16, f"10{raised}", 13))
    for loss in (2.0, 2.5, 3.0, 3.5):
        _, y = _at(7, loss)
        body.append(text(_LEFT - 22, y, f"{loss}", 13))
    rings = []
    for power, label in BUDGETS.items():
        budget = 10.0**power
        best, tokens = law.best(budget)
        curve = []
        for step in range(-40, 41):
            n = best * 10 ** (step / 30)
            x, y = _at(log10(n), float(law(n, budget / PRICE / n)))
            curve.append(f"{x:.1f} {y:.1f}")
        body.append(
            f'<path fill="none" stroke="{ROLES["key"]}" stroke-width="2" d="M{"L".join(curve)}"/>'
        )
        body.append(text_at(x + 8, y, f"C = {label}", 14))
        rings.append(_at(log10(best), float(law(best, tokens))))
    joined = "L".join(f"{x:.1f} {y:.1f}" for x, y in rings)
    dashed = f'stroke="{ROLES["query"]}" stroke-dasharray="5 4"'
    body.append(f'<path fill="none" {dashed} d="M{joined}"/>')
    x, y = rings[0]
    body.append(text(x - 62, y + 22, "compute-optimal N", 14, "query"))
    body += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="none" stroke="{ROLES["query"]}" '
        'stroke-width="2"/>' for x, y in rings
    ]  # fmt: skip
    return svg(720, 346, body)

"""Three ways to spend a different amount of computation on each token or text."""

from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.palette import ROLES

CELL, GAP = 44.0, 6.0
# Halting probabilities by token and step: (column, step) -> p; a column halts when they reach 1.
HALTING = {"1+1": (0.9, 0.3), "0+1": (0.2, 0.3, 0.8), "1+0": (0.3, 0.2, 0.2, 0.5), "0+0": (1.0,)}
EXITS = ((0.62, False), (0.41, False), (0.08, True), (None, False))
GATES = (("attention", (1, 0, 1, 0)), ("feed-forward", (1, 1, 0, 0)),
         ("attention", (0, 0, 1, 0)), ("feed-forward", (1, 0, 0, 1)))  # fmt: skip


def _cell(x: float, y: float, words: str, role: str, on: bool, width: float = CELL) -> str:
    """Return a box that is filled where something is computed, dashed where it isn't."""
    style = "" if on else ' stroke-dasharray="4 3"'
    fill = 0.3 if on else 0
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="30" rx="4" fill="{ROLES[role]}" '
        f'fill-opacity="{fill}" stroke="{ROLES[role]}"{style}/>'
        + text(x + width / 2, y + 15.5, words, 13)
    )


def _act(left: float) -> list[str]:
    """Return one block applied again and again, until each column halts."""
    body = [text(left + 108, 16, "Universal Transformer, ACT", 14, bold=True)]
    for i, (column, chances) in enumerate(HALTING.items()):
        x = left + 8 + i * (CELL + GAP)
        body.append(text(x + CELL / 2, 252, column, 14))
        for step in range(4):
            on = step < len(chances)
            words = f"{chances[step]:g}" if on else "copy"
            body.append(_cell(x, 202 - 50 * step, words, "query", on))
            if step:
                top = 202 - 50 * (step - 1)
                body.append(arrow(x + CELL / 2, top - 1, x + CELL / 2, top - 19, width=1))
    body.append(text(left + 108, 284, "the same block at every step;", 13))
    body.append(text(left + 108, 302, "numbers: halting probabilities", 13))
    return body


def _gates(left: float) -> list[str]:
    """Return four sublayers with a gate for each of four tokens."""
    body = [text(left + 115, 16, "conditional computation", 14, bold=True)]
    for i, (name, open_) in enumerate(GATES):
        y = 202 - 50 * i
        body.append(text(left + 45, y + 15, name, 13))
        for j, gate in enumerate(open_):
            body.append(_cell(left + 96 + 34 * j, y, str(gate), "value", bool(gate), 28))
    body.append(text(left + 164, 252, "four tokens", 14))
    body.append(text(left + 115, 284, "different sublayers, each with", 13))
    body.append(text(left + 115, 302, "a gate per token, 1 or 0", 13))
    return body


def _exits(left: float) -> list[str]:
    """Return four layers with off-ramps, and where a text leaves."""
    body = [text(left + 105, 16, "DeeBERT", 14, bold=True)]
    for i, (entropy, leaves) in enumerate(EXITS):
        y = 202 - 50 * i
        on = i < 3
        style = "" if on else ' stroke-dasharray="4 3"'
        body.append(
            f'<rect x="{left:g}" y="{y:g}" width="84" height="30" rx="4" '
            f'fill="{ROLES["key"]}" fill-opacity="{0.3 if on else 0}" '
            f'stroke="{ROLES["key"]}"{style}/>' + text(left + 42, y + 15.5, f"layer {i + 1}", 13)
        )
        if i:
            body.append(arrow(left + 42, y + 49, left + 42, y + 32, width=1))
        if entropy is not None:
            body.append(arrow(left + 86, y + 15, left + 108, y + 15, "output", 3 if leaves else 1))
            words = f"H = {entropy:g}" + (": exit" if leaves else "")
            body.append(text(left + 164, y + 15.5, words, 13, bold=leaves))
    body.append(text(left + 42, 252, "one text", 14))
    body.append(text(left + 105, 284, "exit where the entropy H is", 13))
    body.append(text(left + 105, 302, "below a threshold, here 0.1", 13))
    return body


def adaptive_depth() -> str:
    """Return the drawing as SVG."""
    return svg(740, 316, [*_act(4), *_gates(256), *_exits(520)])

"""CTC as a textbook draws it: waveform, encoder, softmax in each frame, alignment, text.

The probabilities are chosen for the drawing; `PROBABILITIES` holds them in fifths.
"""

from itertools import groupby
from math import pi, sin

from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.palette import ROLES

PROBABILITIES = {
    "-": [4, 1, 0, 1, 3, 1, 0, 1],
    "h": [1, 3, 1, 0, 0, 0, 0, 0],
    "e": [0, 1, 4, 1, 0, 0, 0, 0],
    "l": [0, 0, 0, 3, 2, 4, 1, 0],
    "o": [0, 0, 0, 0, 0, 0, 4, 4],
}
FRAMES = 8
_LEFT, _STEP = 122, 42
_LOUDNESS = (0, 8, 18, 12, 3, 14, 20, 10)


def best_path() -> list[str]:
    """Return the most probable symbol of each frame."""
    return [max(PROBABILITIES, key=lambda k: PROBABILITIES[k][t]) for t in range(FRAMES)]


def ctc_pipeline() -> str:
    """Return the drawing as SVG."""
    x = [_LEFT + _STEP * t for t in range(FRAMES)]
    first, last = x[0] - 21, x[-1] + 21
    wave = [(first + 2 * i, 26 + _LOUDNESS[i // 21] * sin(i * pi / 3)) for i in range(168)]
    points = "L".join(f"{a:.0f} {b:.1f}" for a, b in wave)
    body = [f'<path fill="none" stroke="currentColor" stroke-width="0.8" d="M{points}"/>']
    middle = (first + last) / 2
    body += [
        arrow(middle, 50, middle, 66),
        f'<rect x="{first}" y="66" width="{last - first}" height="28" rx="4" fill="none" '
        f'stroke="{ROLES["residual"]}" stroke-width="1.5"/>',
        text(middle, 81, "encoder: convolutions, then a bidirectional GRU", 13),
        arrow(middle, 94, middle, 114),
    ]
    for k, (symbol, values) in enumerate(PROBABILITIES.items()):
        y = 118 + 23 * k
        body.append(text(first - 14, y + 11, symbol, 16, bold=True))
        body += [
            f'<rect x="{a - 20}" y="{y}" width="40" height="21" stroke="{ROLES["key"]}" '
            f'stroke-width="0.5" fill="{ROLES["key"]}" fill-opacity="{0.17 * v:.2f}"/>'
            for a, v in zip(x, values, strict=True)
        ]
    labels = ((26, "waveform"), (81, "logits"), (175, "softmax"), (255, "alignment"),
              (289, "merge"), (323, "text"))  # fmt: skip
    body += [text(43, y, words, 13) for y, words in labels]
    path = best_path()
    body += [text(a, 255, symbol, 16) for a, symbol in zip(x, path, strict=True)]
    start = 0
    for symbol, same in groupby(path):
        n = len([*same])
        at = sum(x[start : start + n]) / n
        body.append(text(at, 289, symbol, 16))
        if symbol != "-":
            body.append(text(at, 323, symbol, 18, "query", bold=True))
        start += n
    return svg(last + 6, 338, body)

"""A ViT that classifies what the reader draws, and shows its attention while the pen moves.

    toy = drawn_digits()                                # deepdive_book.kit.toys
    drawing(toy.model, said="...")

A drawing is lines of points, not pixels. It is prepared as the data were: their makers fitted each
digit into a frame of 32 x 32 dots, drew it there, and counted the dots in squares of 4 x 4, which
gives 8 x 8 numbers from 0 to 16 (`prepared`). So it does not matter where on the paper, and how
large, somebody draws. `vision.js` adds patches and rollout to the arithmetic of `forward.js`; a
test holds both to PyTorch, and the preparation to this file. Weights come in half precision.
Nothing comes from a network, and nothing that is drawn leaves the page. Without scripts the first
drawing stands there with its answer.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from math import hypot
from typing import Any, NamedTuple

import torch
from torch import Tensor

from deepdive.core.hooks import record
from deepdive.explain.rollout import rollout
from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.live.export import described_viewer, half
from deepdive_book.kit.live.scripts import live_script
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES, painted

LARGEST = 500_000  # bytes of HTML
DOTS, CELL, PEN = 32, 4, 2.4  # the frame in dots, dots of a pixel, half the thickness of a line
WIDE, HIGH = 22, 32  # what a digit fills of the frame
STRETCH = 1.5  # one direction is stretched so many times more than the other at most
PAPER, SHOWN = 280, 240  # how large both pictures are drawn

Strokes = Sequence[Sequence[tuple[float, float]]]  # x, y from 0 to 1, from the upper left corner

EXAMPLES: dict[str, Strokes] = {
    "0": [[(0.5, 0.2), (0.38, 0.26), (0.32, 0.42), (0.32, 0.6), (0.38, 0.74), (0.5, 0.8),
           (0.62, 0.74), (0.68, 0.6), (0.68, 0.42), (0.62, 0.26), (0.5, 0.2)]],
    "1": [[(0.4, 0.36), (0.54, 0.2), (0.54, 0.8)]],
    "2": [[(0.34, 0.32), (0.42, 0.21), (0.55, 0.2), (0.65, 0.28), (0.65, 0.4), (0.55, 0.54),
           (0.33, 0.8), (0.7, 0.8)]],
    "3": [[(0.34, 0.26), (0.46, 0.2), (0.6, 0.23), (0.64, 0.34), (0.58, 0.45), (0.46, 0.48),
           (0.6, 0.52), (0.66, 0.64), (0.6, 0.76), (0.46, 0.8), (0.34, 0.74)]],
    "4": [[(0.5, 0.2), (0.3, 0.56), (0.7, 0.56)], [(0.6, 0.38), (0.57, 0.8)]],
    "5": [[(0.66, 0.2), (0.4, 0.2), (0.37, 0.46), (0.52, 0.43), (0.64, 0.5), (0.66, 0.63),
           (0.6, 0.76), (0.46, 0.8), (0.34, 0.74)]],
    "6": [[(0.58, 0.2), (0.42, 0.34), (0.34, 0.54), (0.36, 0.72), (0.48, 0.8), (0.62, 0.75),
           (0.66, 0.63), (0.58, 0.53), (0.46, 0.54), (0.36, 0.64)]],
    "7": [[(0.33, 0.2), (0.68, 0.2), (0.56, 0.46), (0.47, 0.8)], [(0.38, 0.5), (0.66, 0.5)]],
    "8": [[(0.6, 0.26), (0.5, 0.2), (0.39, 0.26), (0.39, 0.37), (0.5, 0.46), (0.63, 0.58),
           (0.63, 0.73), (0.5, 0.8), (0.37, 0.73), (0.38, 0.58), (0.51, 0.46), (0.61, 0.37),
           (0.6, 0.26)]],
    "9": [[(0.64, 0.34), (0.56, 0.22), (0.44, 0.21), (0.36, 0.32), (0.4, 0.44), (0.52, 0.47),
           (0.63, 0.38), (0.64, 0.34), (0.63, 0.58), (0.57, 0.8)]],
}  # fmt: skip


class Frame(NamedTuple):
    """From the paper into the frame: dot x = wide * x + left, dot y = high * y + top."""

    wide: float
    left: float
    high: float
    top: float


def frame(strokes: Strokes) -> Frame:
    """Return how a drawing is moved and stretched to fill its frame, its middle in the middle; its
    lines are stretched with it.
    """
    points = [point for stroke in strokes for point in stroke]
    if not points:
        raise ValueError("strokes: there is no point to frame")
    (low_x, high_x), (low_y, high_y) = (
        (min(axis), max(axis)) for axis in zip(*points, strict=True)
    )
    wide, high = max(high_x - low_x, 0.05), max(high_y - low_y, 0.05)
    down = (HIGH - 2 * PEN) / high
    across = min(WIDE / (wide + 2 * PEN / down), STRETCH * down)
    down = min(down, STRETCH * across)
    middle = DOTS / 2
    return Frame(
        across, middle - across * (low_x + high_x) / 2, down, middle - down * (low_y + high_y) / 2
    )


def prepared(strokes: Strokes) -> Tensor:
    """Return a drawing as the data are: (8, 8), how many of 16 dots of each pixel have ink."""
    fit, side = frame(strokes), DOTS // CELL
    pen = fit.wide / fit.high  # how much wider than high
    lines = [
        [((fit.wide * x + fit.left) / pen, fit.high * y + fit.top) for x, y in stroke]
        for stroke in strokes
        if stroke
    ]
    pieces = [(a, b) for line in lines for a, b in zip(line, line[1:] or line, strict=False)]
    counts = torch.zeros(side, side)
    for i in range(DOTS):
        for j in range(DOTS):
            if any(_away((j + 0.5) / pen, i + 0.5, a, b) <= PEN for a, b in pieces):
                counts[i // CELL, j // CELL] += 1
    return counts


def _away(x: float, y: float, a: tuple[float, float], b: tuple[float, float]) -> float:
    """How far a point is from the line from a to b."""
    across, down = b[0] - a[0], b[1] - a[1]
    long = across * across + down * down
    along = ((x - a[0]) * across + (y - a[1]) * down) / long if long > 0 else 0.0
    along = min(1.0, max(0.0, along))
    return hypot(x - a[0] - along * across, y - a[1] - along * down)


class Seen(NamedTuple):
    """What the model makes of 8 x 8 counts: shares of the kinds (n,), the mean over heads of each
    layer's weights (L, 1 + N, 1 + N), and rollout (1 + N, 1 + N).
    """

    shares: Tensor
    looks: Tensor
    rolled: Tensor


def read(model: Any, counts: Tensor) -> Seen:
    """Let the model read a drawing as `prepared` gives it."""
    with record(model.encoder, "*.weights") as seen, torch.no_grad():
        shares = model((counts / 8 - 1)[None, None]).softmax(-1)[0]
    looks = torch.stack([calls[0][0].mean(0) for calls in seen.values()])
    return Seen(shares, looks, rollout(seen)[-1, 0])


def drawing(
    model: Any,
    *,
    start: str = "7",
    examples: Mapping[str, Strokes] = EXAMPLES,
    names: Sequence[str] = tuple("0123456789"),
    told: str = "",
) -> Html:
    """Return the page's reader of drawings.

    Args:
        model: an `ImageClassifier` on a ViT for grey images of 8 x 8 pixels.
        start: the example that stands there first.
        examples: name -> strokes, one button each.
        names: the kinds, as many as the model has.
        told: a sentence below: how often it is right on what it has not learned.

    Raises:
        TypeError, ValueError: the page cannot run the model, a name is missing, or the whole is
            larger than 500 kB. The message names it.
    """
    spec = described_viewer(model)
    side = DOTS // CELL
    if (spec["side"], spec["channels"]) != (side, 1) or len(model.encoder.embeddings.special) != 1:
        raise ValueError(f"model: expected one special token and grey images of {side} x {side}")
    if start not in examples or len(names) != model.out.out_features:
        raise ValueError(
            f"start, names: got {start!r} and {len(names)} names; expected one of "
            f"{list(examples)}, and {model.out.out_features} names"
        )
    spec |= {
        "names": list(names), "start": start, "weights": half(model.state_dict()),
        "examples": {name: [[[*p] for p in s] for s in strokes]
                     for name, strokes in examples.items()},
        "dots": DOTS, "cell": CELL, "pen": PEN, "wide": WIDE, "high": HIGH, "stretch": STRETCH,
        "paper": PAPER, "shown": SHOWN,
    }  # fmt: skip
    strokes, body = examples[start], json.dumps(spec, ensure_ascii=False, separators=(",", ":"))
    counts = prepared(strokes)
    seen, name = read(model, counts), f"dr{hashlib.sha256(body.encode()).hexdigest()[:10]}"
    best = int(seen.shares.argmax())
    said = f"Prediction: {names[best]}, {_percent(float(seen.shares[best]))}."
    paper, given = _paper(strokes, seen.rolled, spec["patch"]), _given(counts)
    html = _PAGE.format(
        id=name,
        style=painted(_STYLE),
        paper=paper,
        given=given,
        examples="".join(f'<button type="button">{escape(each)}</button>' for each in examples),
        layers="".join(f"<option>{i}</option>" for i in range(1, 1 + spec["layers"]["encoder"])),
        bars="".join(map(_bar, names, seen.shares.tolist())),
        said=escape(said),
        told=escape(told),
        n=side,
        patches=(side // spec["patch"]) ** 2,
        script=script(painted(live_script(*SHARED, figure=__file__)), id=name, spec=body),
    )
    if len(html.encode()) > LARGEST:
        size = len(html.encode()) / 1000
        raise ValueError(f"the model has {size:.0f} kB, at most {LARGEST / 1000:.0f}")
    alt = (
        f"Left, a drawn {start}, shaded by attention rollout; right, the same as {side} x {side} "
        f"gray pixels. {said}"
    )
    pictures = [Picture([paper, given], alt, ["the drawing", "the model's input"])]
    return Html(html, f"[a drawing box, with a {start} in it. {said}]", pictures)


SHARED = ("forward.js", "masked.js", "vision.js")


def _paper(strokes: Strokes, rolled: Tensor, patch: int) -> str:
    """The drawing, and under it the class token's rollout by patch."""
    fit, across = frame(strokes), DOTS // CELL // patch
    one = DOTS / across  # dots of a patch
    shares = rolled[0, 1:]
    shares = shares / shares.max()
    heat = []
    for t, share in enumerate(shares.tolist()):
        x, y = (t % across * one - fit.left) / fit.wide, (t // across * one - fit.top) / fit.high
        heat.append(
            f'<rect x="{PAPER * x:.1f}" y="{PAPER * y:.1f}" '
            f'width="{PAPER * one / fit.wide:.1f}" height="{PAPER * one / fit.high:.1f}" '
            f'fill="{ROLES["weight"]}" fill-opacity="{0.75 * share:.3f}" '
            'stroke="currentColor" stroke-opacity=".25"/>'
        )
    ink = "".join(
        f'<polyline points="{" ".join(f"{PAPER * x:.1f},{PAPER * y:.1f}" for x, y in stroke)}"/>'
        for stroke in strokes
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PAPER} {PAPER}" class="dr-paper" '
        f'width="{PAPER}" height="{PAPER}" style="max-width:100%;{FONT}" tabindex="0" role="img" '
        f'aria-label="Draw a digit here"><g class="dr-heat">{"".join(heat)}</g>'
        f'<g class="dr-ink" fill="none" stroke="currentColor" stroke-width="13" '
        f'stroke-linecap="round" stroke-linejoin="round">{ink}</g>'
        '<circle class="dr-pen" r="9" fill="none" stroke="currentColor" stroke-width="2" '
        'cx="-20" cy="-20"/></svg>'
    )


def _given(counts: Tensor) -> str:
    """The pixels that the model gets, white where there is ink as in the data."""
    side = len(counts)
    one = SHOWN / side
    pixels = "".join(
        f'<rect x="{one * (i % side):g}" y="{one * (i // side):g}" width="{one:g}" '
        f'height="{one:g}" fill="#{int(count * 255 / 16):02x}{int(count * 255 / 16):02x}'
        f'{int(count * 255 / 16):02x}"/>'
        for i, count in enumerate(counts.flatten().tolist())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SHOWN} {SHOWN}" class="dr-given" '
        f'width="{SHOWN}" height="{SHOWN}" style="max-width:100%;{FONT}" tabindex="0" role="img" '
        f'aria-label="The model input: {side} by {side} pixels"><g class="dr-pixels">{pixels}'
        '</g><g class="dr-patches"></g></svg>'
    )


def _percent(share: float) -> str:
    return (
        "over 99%"
        if share > 0.995
        else "under 1%"
        if share < 0.005
        else f"{int(100 * share + 0.5)}%"
    )


def _bar(name: str, share: float) -> str:
    return (
        f'<li><span class="dr-name">{escape(name)}</span><span class="dr-bar">'
        f'<i style="width:{100 * share:.1f}%"></i></span>'
        f'<span class="dr-share">{_percent(share)}</span></li>'
    )


_STYLE = """
.dr { font: 1rem/1.4 system-ui, sans-serif; max-width: 44rem; margin: .4em 0; }
.dr p { margin: .5em 0; }
.dr-both { display: flex; flex-wrap: wrap; gap: 1em 1.4em; align-items: flex-start; }
.dr .dr-both figure { margin: 0; max-width: 100%; }
.dr .dr-both figcaption { font-size: .9rem; margin: .2em 0 0; max-width: 17rem; text-align: left; }
.dr-both svg { display: block; border: 1px solid currentColor; height: auto; }
.dr-both svg:focus-visible { outline: 3px solid @key; outline-offset: 2px; }
.dr.dr-live .dr-paper { touch-action: none; cursor: crosshair; user-select: none; }
.dr.dr-live .dr-given { touch-action: none; cursor: pointer; }
.dr button, .dr select { font: inherit; color: inherit; cursor: pointer; margin: 0;
  padding: .3em .7em; background: transparent; min-height: 2.4rem; min-width: 2.4rem;
  border: 1px solid color-mix(in srgb, currentColor 55%, transparent); border-radius: .4em; }
.dr select option { color: #111; background: #fff; }
.dr button:hover { box-shadow: inset 0 0 0 1px currentColor; }
.dr button:focus-visible, .dr select:focus-visible { outline: 3px solid @key; }
.dr-row { display: flex; flex-wrap: wrap; gap: .4em; align-items: center; margin: .5em 0; }
.dr .dr-bars { list-style: none; margin: .6em 0; padding: 0; display: grid; gap: .15em;
  flex: 1 1 11rem; min-width: 11rem; }
.dr .dr-bars li { display: grid; grid-template-columns: 1.2em 1fr 5.6em; gap: .5em;
  align-items: center; margin: 0; font-variant-numeric: tabular-nums; }
.dr .dr-bar { height: .9em; background: color-mix(in srgb, currentColor 8%, transparent); }
.dr .dr-bar i { display: block; height: 100%; background: @output; }
.dr .dr-best { font-weight: 700; }
.dr .dr-share { white-space: nowrap; }
.dr [role=status] { min-height: 2.8em; }
.dr [hidden] { display: none; }
@media (max-width: 500px) { .dr [role=status] { min-height: 4.2em; } }
@media print { .dr-row { display: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="dr" id="{id}" role="group" aria-label="A ViT that classifies what you draw">
<div class="dr-both"><figure>{paper}
<figcaption>Your drawing. Yellow: attention rollout from the class token.</figcaption>
</figure><figure>{given}
<figcaption>The model's input: {n} × {n} pixels, {patches} patches. Orange frame: the patch
under the pen; yellow: its attention to each patch.</figcaption></figure>
<ol class="dr-bars" aria-label="Probability of each digit">{bars}</ol></div>
<div class="dr-row" hidden><button type="button" class="dr-undo">undo</button>
<button type="button" class="dr-clear">clear</button>
<label>attention in layer <select>{layers}</select></label></div>
<div class="dr-row dr-examples" role="group" aria-label="Examples" hidden>{examples}</div>
<p role="status" aria-live="polite">{said}</p>
<p class="dr-told">{told}</p>
</div>
{script}"""

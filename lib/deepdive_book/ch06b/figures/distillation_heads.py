"""A label, a teacher and the two heads that learn from them, kind by kind, for images to choose.

    distillation_heads([Opinion("a shirt", pixels, label, teacher, label_head, taught_head)], names)

Four columns of bars stand beside each other: what the label says, what the teacher says, and what
each head of a distilled model says. A slider makes the teacher's answer hard, or soft at several
temperatures, and the loss of the image is told at once. Python draws the first state, which stays
where nothing moves: on paper, without scripts.
"""

import base64
import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

TEMPERATURES = (0, 1, 2, 3, 5, 10)  # 0 stands for the hard answer
COLUMNS = (("label", "score"), ("teacher", "weight"), ("class head", "key"),
           ("taught head", "query"))  # fmt: skip
WIDE, IMAGE, NAMES, ROW, BAR, GAP = 400.0, 96.0, 82.0, 21.0, 70.0, 9.0  # of the drawing
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Opinion:
    """An image and what is said of it.

    pixels   (H, W) bytes, a square
    label    the number of the kind that the data set gives
    teacher, label_head, taught_head   logits (kinds,)
    """

    called: str
    pixels: Any
    label: int
    teacher: Any
    label_head: Any
    taught_head: Any


def distillation_heads(images: Sequence[Opinion], names: Sequence[str]) -> Html:
    """Return the picture, with the first image and the teacher's hard answer.

    Raises:
        ValueError: there is no image, or one has no square of bytes or not a logit for each kind.
    """
    if not images:
        raise ValueError("images: expected at least one")
    values: list[dict[str, Any]] = []
    for image in images:
        pixels = np.asarray(image.pixels)
        if pixels.ndim != 2 or pixels.shape[0] != pixels.shape[1] or pixels.dtype != np.uint8:
            raise ValueError(f"{image.called}: pixels got {pixels.shape}, expected a byte square")
        logits = []
        for said in (image.teacher, image.label_head, image.taught_head):
            row = np.asarray(said, dtype=np.float64)
            if row.shape != (len(names),):
                raise ValueError(f"{image.called}: got {row.shape}, expected ({len(names)},)")
            logits.append(row.round(3).tolist())
        values.append(
            {"called": image.called, "label": image.label, "logits": logits, "png": _png(pixels)}
        )
    given = json.dumps(
        {"images": values, "names": list(names), "temperatures": TEMPERATURES, "bar": BAR},
        separators=(",", ":"),
    )
    name = f"op{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    drawn, told = _drawing(values[0], names), alt_text(values[0], names, 0)
    options = "".join(f"<option value={i}>{escape(v['called'])}" for i, v in enumerate(values))
    html = _PAGE.format(
        id=name, drawn=drawn, told=escape(told), options=options, last=len(TEMPERATURES) - 1,
        focus=ROLES["weight"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = (
        f"{images[0].called}, and for each of {len(names)} kinds four bars: the label, the "
        "teacher's answer, and the answers of the class head and of the taught head."
    )
    return Html(html, f"[opinions: {told}]", [Picture([drawn], alt, ["four opinions"])])


def softmax(logits: Sequence[float], temperature: float = 1.0) -> list[float]:
    """The probabilities of logits / temperature; with 0 all on the largest."""
    if temperature == 0:
        best = logits.index(max(logits))
        return [float(k == best) for k in range(len(logits))]
    each = [math.exp((z - max(logits)) / temperature) for z in logits]
    return [e / sum(each) for e in each]


def losses(image: Mapping[str, Any], temperature: float) -> tuple[float, float]:
    """That of the class head, from the label; and that of the taught head, from the teacher: the
    cross-entropy of its hard answer, or temperature^2 times the divergence of its soft one.
    """
    teacher, label_head, taught_head = image["logits"]
    first = -math.log(softmax(label_head)[image["label"]])
    target, said = softmax(teacher, temperature), softmax(taught_head, temperature or 1.0)
    far = sum(p * math.log(p / q) for p, q in zip(target, said, strict=True) if p > 0)
    return first, far * (temperature or 1.0) ** 2


def alt_text(image: Mapping[str, Any], names: Sequence[str], temperature: float) -> str:
    """The state in words."""
    teacher, *heads = (row.index(max(row)) for row in image["logits"])
    first, second = losses(image, temperature)
    how = f"soft, at temperature {temperature}" if temperature else "hard"
    return (
        f"Label: {names[image['label']]}. Teacher: {names[teacher]}. Class head: "
        f"{names[heads[0]]}. Taught head: {names[heads[1]]}. Loss with the teacher's answer {how}: "
        f"({first:.2f} + {second:.2f}) / 2 = {(first + second) / 2:.2f}"
    )


def _png(pixels: Any) -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def _drawing(image: Mapping[str, Any], names: Sequence[str]) -> str:
    """The image, and four columns of bars; the classes are what the script looks for."""
    top, kinds = IMAGE + 48, len(names)
    teacher, *heads = image["logits"]
    rows = [[float(k == image["label"]) for k in range(kinds)], softmax(teacher, 0)]
    rows += [softmax(head) for head in heads]
    body = []
    for k, called in enumerate(names):
        body.append(
            f'<text x="{NAMES - 4:g}" y="{top + k * ROW + 15:g}" font-size="13" text-anchor="end" '
            f'fill="currentColor">{escape(called)}</text>'
        )
    for c, ((called, role), row) in enumerate(zip(COLUMNS, rows, strict=True)):
        left = NAMES + c * (BAR + GAP)
        bars = "".join(
            f'<rect class="op-bar" x="{left:g}" y="{top + k * ROW + 3:g}" width="{BAR * p:.2f}" '
            f'height="{ROW - 6:g}" fill="{ROLES[role]}"/>'
            for k, p in enumerate(row)
        )
        words = "".join(
            f'<text x="{left:g}" y="{top - 20 + 14 * line:g}" font-size="13" font-weight="600" '
            f'fill="{ROLES[role]}">{word}</text>'
            for line, word in enumerate(called.split(), 2 - len(called.split()))
        )
        body.append(
            f'<g class="op-column">{words}'
            f'<path d="M{left:g} {top:g}v{kinds * ROW:g}" stroke="currentColor" '
            f'stroke-opacity=".4"/>{bars}</g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {top + kinds * ROW + 4:g}" '
        f'width="{WIDE:g}" style="width:100%;max-width:32rem;height:auto;{FONT}" role="img" '
        'aria-label="An image, and for each kind what label, teacher and two heads say">'
        f'<image class="op-image" x="{NAMES:g}" y="4" width="{IMAGE:g}" height="{IMAGE:g}" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{image["png"]}"/>'
        f'{"".join(body)}</svg>'
    )  # fmt: skip


_PAGE = """\
<style>
.op {{ max-width: 32rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.op p {{ margin: .35em 0; min-height: 5.6em; font-variant-numeric: tabular-nums; }}
.op svg {{ display: block; }}
.op-choose {{ display: flex; flex-wrap: wrap; gap: .4em 1.2em; align-items: center; }}
.op-choose[hidden] {{ display: none; }}
.op-choose label {{ display: flex; flex-wrap: wrap; gap: .3em .5em; align-items: center; }}
.op-choose select, .op-choose button {{ font: inherit; min-height: 2.4rem; }}
.op-choose input {{ width: min(7.5rem, 20vw); min-height: 2.4rem; }}
.op-choose :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.op output {{ min-width: 6.7em; }}
@media print {{ .op-choose {{ display: none; }} .op p {{ min-height: 0; }} }}
</style>
<div class="op" id="{id}" role="group" aria-label="What label, teacher and two heads say">
<div class="op-choose" hidden><label>image <select>{options}</select></label>
<button type="button">next image</button>
<label>teacher's answer <input type="range" min="0" max="{last}" step="1" value="0">
<output>hard</output></label></div>
{drawn}
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""

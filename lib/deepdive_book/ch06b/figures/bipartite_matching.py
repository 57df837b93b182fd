"""A scene, predicted boxes to drag, their matching costs, and the bipartite matching.

    bipartite_matching(scene, names, truth, logits, boxes, elsewhere, confidence, numbers=(3, 8))

Dragging a box, or moving it by arrow keys, updates costs and matching. Selecting a query also shows
where its boxes are in other scenes. Python draws the first state, which is what paper and pages
without scripts show.
"""

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from html import escape
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepdive.training.objectives.set_prediction import CLASS, GIOU, L1, Truth, costs
from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import PALETTE, painted

SIDE = 320.0  # of the scene, in pixels of the picture
PALE = "#888888"
COLORS = tuple(PALETTE[i] for i in (1, 5, 2, 3, 4, 0))
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def min_cost_assignment(cost: Sequence[Sequence[float]]) -> list[int]:
    """Return the query matched with each object at the least total cost, by trying all."""
    queries, things = range(len(cost)), range(len(cost[0]) if cost else 0)
    return list(min(permutations(queries, len(things)),
                    key=lambda rows: sum(cost[q][t] for t, q in enumerate(rows))))  # fmt: skip


def png(pixels: Any) -> str:
    """Return an image, uint8 (3, H, W), as a data address."""
    rows = np.moveaxis(np.asarray(pixels, np.uint8), 0, -1)
    height, width = rows.shape[:2]
    body = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows), 9)

    def chunk(name: bytes, data: bytes) -> bytes:
        whole = name + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    made = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(made).decode()}"


def bipartite_matching(
    scene: Any, names: Sequence[str], truth: Truth, logits: Any, boxes: Any,
    elsewhere: Any, sure: Any, numbers: Sequence[int] = (),
) -> Html:  # fmt: skip
    """Return the figure.

    Args:
        scene: uint8 (3, H, W).
        names: of the classes.
        truth: classes and boxes of the objects.
        logits, boxes: the predictions of N queries, (N, n_classes + 1) and (N, 4); N at most six.
        elsewhere, sure: their boxes (S, N, 4) in other scenes, and 1 - p(no object), (S, N).
        numbers: how the model counts these queries, if it has more; default 1, 2, ...

    Raises:
        ValueError: more queries than colors, more objects than queries, or sizes that differ.
    """
    shares = torch.as_tensor(logits).detach().double().softmax(-1)
    said, far, known = (torch.as_tensor(x).detach().double() for x in (boxes, elsewhere, sure))
    n, things = len(said), len(truth.classes)
    if not 1 <= things <= n <= len(COLORS) or shares.shape != (n, len(names) + 1):
        raise ValueError(
            f"{n} queries, {things} objects, logits {tuple(shares.shape)}: expected at most "
            f"{len(COLORS)} queries, one to {n} objects, {len(names)} classes"
        )
    if far.shape[1:] != (n, 4) or known.shape != far.shape[:2]:
        raise ValueError(
            f"elsewhere {tuple(far.shape)}, sure {tuple(known.shape)}: expected {n} queries"
        )
    labels = [*numbers] or [*range(1, n + 1)]
    if len(labels) != n:
        raise ValueError(f"numbers: got {len(labels)}, expected {n}, one per query")
    true = Truth(truth.classes, truth.boxes.double())
    cost = costs(shares.log(), said, true).tolist()
    given = json.dumps(
        {"names": list(names), "kinds": truth.classes.tolist(), "true": _round(true.boxes),
         "shares": _round(shares), "boxes": _round(said), "far": _round(far.transpose(0, 1), 3),
         "sure": _round(known.T, 2), "colours": COLORS[:n], "numbers": labels,
         "weights": [CLASS, L1, GIOU], "side": SIDE}
    )  # fmt: skip
    at = f"ddm{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    rows = min_cost_assignment(cost)
    begin = rows[0]
    letters = [chr(65 + j) for j in range(things)]
    heads = "".join(f'<th scope="col">{letter}, {escape(names[int(k)])}</th>'
                    for letter, k in zip(letters, truth.classes, strict=True))  # fmt: skip
    body = ""
    for i in range(n):
        cells = "".join(
            f'<td class="ddm-cell{" ddm-match" if rows[j] == i else ""}">{_number(cost[i][j])}</td>'
            for j in range(things)
        )
        body += (
            f'<tr><th scope="row"><button type="button" class="ddm-q" aria-pressed='
            f'"{"true" if i == begin else "false"}"><i style="background:{COLORS[i]}"></i> '
            f"{labels[i]}: {escape(_says(shares[i].tolist(), names))}</button></th>{cells}</tr>"
        )
    total = sum(round(cost[q][t], 2) for t, q in enumerate(rows))
    told = f"{_pairs(rows, labels)}: total cost {_number(total)}, the least of all matchings."
    plane = _plane(scene, letters, true.boxes.tolist(), said.tolist(), rows, labels)
    cloud = _cloud(begin, far[:, begin].tolist(), known[:, begin].tolist())
    html = _PAGE.format(
        id=at, style=painted(_STYLE), plane=plane, cloud=cloud, heads=heads, rows=body,
        told=escape(told), which=labels[begin], number=len(far),
        script=script(_SCRIPT, id=at, data=given),
    )  # fmt: skip
    alt = (f"A generated scene with {things} objects, lettered, and the boxes of {n} queries, "
           f"numbered. A table has the matching cost of each pair. {told}")  # fmt: skip
    return Html(html, f"[boxes to drag: {alt}]", [Picture([plane, cloud], alt, ["scene", "cloud"])])


def _round(values: Any, digits: int = 4) -> Any:
    return np.asarray(values).round(digits).tolist()


def _number(x: float) -> str:
    text = f"{x:.2f}"
    return text.replace("-0.00", "0.00").replace("-", "\u2212")


def _says(shares: Sequence[float], names: Sequence[str]) -> str:
    best = max(range(len(shares)), key=lambda k: shares[k])
    name = names[best] if best < len(names) else "no object"
    return f"{name} {100 * shares[best]:.0f}%"


def _pairs(rows: Sequence[int], labels: Sequence[int]) -> str:
    return ", ".join(f"{chr(65 + j)} with query {labels[q]}" for j, q in enumerate(rows))


def _frame(box: Sequence[float]) -> str:
    x, y, w, h = (SIDE * part for part in box)
    return f'x="{x - w / 2:.1f}" y="{y - h / 2:.1f}" width="{w:.1f}" height="{h:.1f}"'


def _plane(
    scene: Any, letters: Sequence[str], true: Sequence[Sequence[float]],
    said: Sequence[Sequence[float]], rows: Sequence[int], labels: Sequence[int],
) -> str:  # fmt: skip
    parts = [
        f'<image href="{png(scene)}" width="{SIDE:g}" height="{SIDE:g}" '
        'style="image-rendering:pixelated" preserveAspectRatio="none"/>'
    ]
    for letter, box in zip(letters, true, strict=True):
        x, y = SIDE * (box[0] + box[2] / 2) - 9, SIDE * (box[1] + box[3] / 2) - 5
        parts.append(
            f'<rect {_frame(box)} fill="none" stroke="#fff" stroke-width="2" class="ddm-true"/>'
            f'<text x="{x:.1f}" y="{y:.1f}" fill="#fff" font-size="16" font-weight="700" '
            f'text-anchor="middle" stroke="#000" stroke-width="3" paint-order="stroke">'
            f"{letter}</text>"
        )
    for i, box in enumerate(said):
        x, y = SIDE * (box[0] - box[2] / 2) + 2, SIDE * (box[1] - box[3] / 2) + 15
        dash = "" if i in rows else ' stroke-dasharray="4 4"'
        parts.append(
            f'<g class="ddm-box" aria-label="box of query {labels[i]}"><rect {_frame(box)} '
            f'fill="{COLORS[i]}" fill-opacity=".08" stroke="{COLORS[i]}" stroke-width="2.5"{dash}'
            f' pointer-events="all"/><text x="{x:.1f}" y="{y:.1f}" font-size="15" '
            f'font-weight="700" fill="{COLORS[i]}" stroke="#000" stroke-width="3" '
            f'paint-order="stroke">{labels[i]}</text></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE:g} {SIDE:g}" '
        f'width="{SIDE:g}" style="max-width:100%;height:auto;{FONT}">{"".join(parts)}</svg>'
    )


def _cloud(
    query: int, boxes: Sequence[Sequence[float]], sure: Sequence[float], side: float = 180.0
) -> str:
    dots = "".join(
        f'<circle cx="{side * x:.1f}" cy="{side * y:.1f}" r="3" '
        f'fill="{COLORS[query] if known >= 0.5 else PALE}" '
        f'fill-opacity="{0.6 if known >= 0.5 else 0.25}"/>'
        for (x, y, _, _), known in zip(boxes, sure, strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side:g} {side:g}" '
        f'width="{side:g}" style="max-width:100%;height:auto"><rect x=".5" y=".5" '
        f'width="{side - 1:g}" height="{side - 1:g}" fill="none" stroke="#888"/>{dots}</svg>'
    )


_STYLE = """
.ddm { font: 1rem/1.45 system-ui, sans-serif; max-width: 54rem; margin: .4em 0; }
.ddm-both { display: flex; flex-wrap: wrap; gap: .6em 1.4em; align-items: flex-start; }
.ddm-plane { flex: 0 1 320px; min-width: 0; }
.ddm-side { flex: 1 1 19em; min-width: 0; }
.ddm svg { display: block; }
.ddm-on .ddm-box { cursor: grab; touch-action: none; }
.ddm-on .ddm-box text { user-select: none; }
.ddm-box:focus { outline: none; }
.ddm-box:focus-visible rect, .ddm-box.ddm-at rect { stroke-width: 5; }
.ddm table { border-collapse: collapse; margin: 0; font-size: .95rem; background: none;
  font-variant-numeric: tabular-nums; }
.ddm :is(th, td) { border: 0; padding: .12rem .45rem; text-align: left; background: none;
  color: inherit; font-weight: 400; }
.ddm td { text-align: right; white-space: nowrap; }
.ddm .ddm-match { background: color-mix(in srgb, @weight 30%, transparent); font-weight: 700;
  border-radius: 3px; }
.ddm button { font: inherit; color: inherit; background: transparent; border: 1px solid transparent;
  border-radius: .3em; padding: .1em .4em; margin: 0; text-align: left; cursor: pointer;
  min-height: 1.9em; }
.ddm .ddm-again, .ddm .ddm-q[aria-pressed=true] { border-color: currentColor; }
.ddm-q i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; }
.ddm [role=status] { margin: .5em 0; min-height: 2.9em; }
.ddm fieldset { border: 0; padding: 0; margin: .3em 0; display: flex; flex-wrap: wrap;
  gap: .2em 1em; }
.ddm label { white-space: nowrap; }
.ddm-far { display: flex; gap: .8em; align-items: center; margin-top: .5em; flex-wrap: wrap; }
.ddm-far p { flex: 1 1 9em; margin: 0; font-size: .9rem; }
.ddm .ddm-how { font-size: .88rem; margin: .4em 0 0; }
.ddm [hidden] { display: none; }
@media print { .ddm-controls, .ddm-how { display: none; } }
"""

_PAGE = """\
<style>{style}
.ddm :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.ddm label {{ padding-block: .25rem; }}
</style>
<div class="ddm" id="{id}" role="group" aria-label="Bipartite matching of predicted boxes">
<div class="ddm-both"><div class="ddm-plane">{plane}
<p class="ddm-how" hidden>Drag a box, or reach it with Tab and press the arrow keys; with Shift they
change its size.</p></div><div class="ddm-side">
<table><thead><tr><th>query</th>{heads}</tr></thead><tbody>{rows}</tbody></table>
<p role="status" aria-live="polite">{told}</p>
<div class="ddm-controls" hidden><fieldset aria-label="matched">
<label><input type="radio" name="{id}-how" checked> Hungarian</label>
<label><input type="radio" name="{id}-how"> in order listed</label>
<button type="button" class="ddm-again">Reset</button></fieldset></div>
<div class="ddm-far"><div class="ddm-cloud">{cloud}</div>
<p>Query <span class="ddm-which">{which}</span> in {number} scenes. A dot is the center of
its box, pale where it predicts “no object”.</p></div></div></div></div>
{script}"""

"""Sentences of two languages as points, while a net learns: which is whose nearest?

    embedding_alignment(["the cat sleeps ."], ["τηε χατ σλεεπσ ."], {0: (one, other), 300: (one,
    other)})

A dot is a sentence of the first language, a diamond its translation. The reader goes through the
steps of training, takes each language's mean off, and chooses a sentence: a line leads from it to
the nearest of the other language, and both are written below. Which is nearest is decided among all
numbers of the vectors; the drawing has the two directions in which the vectors of the last step
spread most. Python draws the first state, which stays where nothing moves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepdive.evaluate.similarity import nearest
from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES, painted

SIDE, EDGE = 300, 14  # of the drawing, and how far points stay from its edge
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
Vectors = tuple[Tensor, Tensor]


def embedding_alignment(
    one: Sequence[str],
    other: Sequence[str],
    steps: Mapping[int, Vectors],
    chosen: int = 0,
    names: tuple[str, str] = ("English", "Greek letters"),
) -> Html:
    """Return the picture at the last step, the sentence `chosen`, the means left on.

    steps: step -> the vectors (N, d) of both languages' sentences, in their order.
    Raises ValueError where these are not as many, and for no step.
    """
    if not steps:
        raise ValueError("steps: got none, expected one at least")
    sizes = {len(one), len(other), *(len(side) for both in steps.values() for side in both)}
    if len(sizes) > 1:
        raise ValueError(
            f"one, other, steps: have {sorted(sizes)} sentences; expected equal counts"
        )
    spec = {
        "one": list(one), "other": list(other), "names": list(names), "steps": list(steps),
        "frames": _frames(list(steps.values())), "side": SIDE, "edge": EDGE,
        "colours": {"right": ROLES["value"], "wrong": ROLES["query"]},
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    name = f"tc{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    at, said = len(steps) - 1, alt_text(spec, len(steps) - 1, 0, chosen)
    drawn = _drawn(spec, at, 0, chosen)
    html = _PAGE.format(
        id=name, style=painted(_STYLE), drawing=drawn, said=escape(said), chosen=chosen,
        last=at, first=escape(names[0]), second=escape(names[1]),
        options="".join(f'<option value="{i}">{escape(text)}' for i, text in enumerate(one)),
        script=script(_SCRIPT, id=name, values=given, chosen=chosen),
    )  # fmt: skip
    picture = Picture([svg(SIDE, SIDE, [_points(spec, at, 0, chosen)])], said)
    return Html(html, f"[two clouds: {said}]", [picture])


def _frames(steps: Sequence[Vectors]) -> list[list[dict[str, Any]]]:
    """For each step, with the means and without: places (2, N, 2) and who is nearest (2, N)."""
    last = [side - side.mean(0) for side in steps[-1]]
    axes = torch.linalg.svd(torch.cat(last).double(), full_matrices=False).Vh[:2].T  # (d, 2)
    frames = []
    for one, other in steps:
        whole = torch.cat([one, other]).double().mean(0)
        both = [
            (one.double() - whole, other.double() - whole, nearest(one, other), nearest(other, one))
        ]
        free = one.double() - one.double().mean(0), other.double() - other.double().mean(0)
        both.append((*free, nearest(*free), nearest(*free[::-1])))
        frames.append([_frame(a, b, axes, near) for a, b, *near in both])
    return frames


def _frame(one: Tensor, other: Tensor, axes: Tensor, near: Sequence[Tensor]) -> dict[str, Any]:
    places = torch.stack([one @ axes, other @ axes])  # (2, N, 2)
    places = places - places.mean((0, 1))
    largest = places.abs().max().clamp(min=1e-9)
    shown = SIDE / 2 + places / largest * (SIDE / 2 - EDGE)
    here = torch.arange(len(one))
    return {
        "at": shown.round().int().tolist(),
        "near": [side.tolist() for side in near],
        "right": int((near[0] == here).sum()),
    }


def alt_text(spec: Mapping[str, Any], step: int, off: int, chosen: int) -> str:
    """The state in words."""
    frame = spec["frames"][step][off]
    found = frame["near"][0][chosen]
    what = "its translation" if found == chosen else "another sentence"
    return (
        f"Step {spec['steps'][step]:,}, means {'off' if off else 'left on'}: for {frame['right']} "
        f"of {len(spec['one'])} sentences the translation is the nearest. “{spec['one'][chosen]}” "
        f"has “{spec['other'][found]}”, {what}."
    )


def _points(spec: Mapping[str, Any], step: int, off: int, chosen: int) -> str:
    frame = spec["frames"][step][off]
    (one, other), found = frame["at"], frame["near"][0][chosen]
    (x, y), (u, v) = one[chosen], other[found]
    color = ROLES["value"] if found == chosen else ROLES["query"]
    line = f'<line x1="{x}" y1="{y}" x2="{u}" y2="{v}" stroke="{color}" stroke-width="3"/>'
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="5" fill="{ROLES["key"]}"/>' for x, y in one)
    marks = "".join(
        f'<path d="M{x} {y - 6}L{x + 6} {y}L{x} {y + 6}L{x - 6} {y}Z" fill="{ROLES["weight"]}"/>'
        for x, y in other
    )
    ring = (
        f'<circle cx="{x}" cy="{y}" r="9" fill="none" stroke="{ROLES["score"]}" stroke-width="2"/>'
    )
    return line + dots + marks + ring


def _drawn(spec: Mapping[str, Any], step: int, off: int, chosen: int) -> str:
    return (
        f'<svg viewBox="0 0 {SIDE} {SIDE}" role="img" aria-label="Dots and diamonds; a line from '
        f'one to the other that is nearest to it">{_points(spec, step, off, chosen)}</svg>'
    )


_STYLE = """
.tc { max-width: 40rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }
.tc svg { display: block; width: min(100%, 26rem); touch-action: manipulation;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: .4em; }
.tc-controls { display: grid; grid-template-columns: minmax(0, 1fr); gap: .5em;
  margin-top: .5em; }
.tc-controls[hidden] { display: none; }
.tc label { display: flex; flex-wrap: wrap; gap: .3em .6em; align-items: center; }
.tc input[type=range] { flex: 1; min-width: 9rem; min-height: 2.2rem; margin: 0;
  accent-color: @residual; }
.tc input[type=checkbox] { width: 1.3rem; height: 1.3rem; margin: 0; accent-color: @residual; }
.tc select { font: inherit; color: inherit; background: transparent; min-height: 2.2rem;
  max-width: 100%; min-width: 0; border-radius: .4em;
  border: 1px solid color-mix(in srgb, currentColor 55%, transparent); }
.tc option { color: #000; background: #fff; }
.tc :focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.tc-names { display: flex; flex-wrap: wrap; gap: .2em 1.4em; margin: .4em 0; }
.tc-names i { display: inline-block; width: .75em; height: .75em; margin-right: .4em;
  background: @key; border-radius: 50%; }
.tc-names span + span i { background: @weight; border-radius: 0; transform: rotate(45deg); }
.tc [role=status] { min-height: 4.2em; margin: .4em 0; }
@media (max-width: 500px) { .tc [role=status] { min-height: 7em; } }
@media print { .tc-controls { display: none; } }
"""

_PAGE = """\
<style>{style}
.tc :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.tc label {{ padding-block: .25rem; }}
</style>
<div class="tc" id="{id}" role="group" aria-label="Sentences of two languages as points">
{drawing}
<p class="tc-names"><span><i></i>{first}</span><span><i></i>{second}</span></p>
<div class="tc-controls" hidden>
<label>training <input type="range" min="0" max="{last}" step="1" value="{last}"></label>
<label><input type="checkbox">take each language's mean off</label>
<label>sentence <select>{options}</select></label></div>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""

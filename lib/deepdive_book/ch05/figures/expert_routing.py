"""Letters that fly to their experts: how much room each has, and how the router was trained.

    expert_routing("to be, or not", {"0": [0, 2, ...], "0.01": [3, 1, ...]}, n_experts=8, room=2)

Each letter goes to the expert that its router named; one that finds it full passes by, below. The
reader moves the room and the weight of the balance loss. Places are those of
`deepdive.layers.SparseExperts.served`. Python draws the first state, which stays where nothing
moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

A_LINE, STEP, MOST = 16, 24, 32  # letters in a line of the drawing; from one to the next; in all
WIDE, TOP, EXPERTS, LANE, HIGH = 400, 22, 106, 332, 394
SIDE = 20  # of a letter's square
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def expert_routing(
    line: str, routes: Mapping[str, Sequence[int]], n_experts: int, room: int
) -> Html:
    """Return the picture with the first of `routes` (a weight -> each letter's expert, from 0) and
    this room.

    Raises ValueError where there are no routes, one has not an expert for each letter, or what is
    asked for does not fit the drawing: 32 letters, 8 experts, rooms from 1 to 16.
    """
    for weight, experts in routes.items():
        if len(experts) != len(line) or not all(0 <= e < n_experts for e in experts):
            raise ValueError(
                f"weight {weight}: got {len(experts)} experts for {len(line)} letters; expected "
                f"one for each, from 0 to {n_experts - 1}"
            )
    if not routes or not 0 < len(line) <= MOST or n_experts > 8 or not 1 <= room <= A_LINE:
        raise ValueError(
            f"got {len(routes)} routes of {len(line)} letters, {n_experts} experts, room {room}; "
            f"expected routes, at most {MOST} letters and 8 experts, and a room from 1 to {A_LINE}"
        )
    weights = list(routes)
    spec = {
        "line": line, "weights": weights, "routes": [list(routes[w]) for w in weights],
        "n": n_experts, "first": [_home(i) for i in range(len(line))],
        "lane": [_pass(i) for i in range(len(line))],
        "slots": [[_slot(e, k) for k in range(A_LINE)] for e in range(n_experts)],
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"))
    name = f"rt{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    said = alt_text(line, weights[0], routes[weights[0]], n_experts, room)
    html = _PAGE.format(
        id=name, style=painted(_STYLE), said=escape(said), room=room, most=A_LINE,
        drawn=_drawing(line, routes[weights[0]], n_experts, room), last=len(weights) - 1,
        weight=escape(weights[0]), script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[routing: {said}]")


def expert_slots(experts: Sequence[int], room: int) -> list[tuple[int, int] | None]:
    """Each letter's expert and its place there, counted from 0; None: it passes by."""
    taken: dict[int, int] = {}
    found: list[tuple[int, int] | None] = []
    for e in experts:
        k = taken.get(e, 0)
        found.append((e, k) if k < room else None)
        taken[e] = k + 1
    return found


def alt_text(line: str, weight: str, experts: Sequence[int], n_experts: int, room: int) -> str:
    """The state in words."""
    passing = expert_slots(experts, room).count(None)
    asked = [list(experts).count(e) for e in range(n_experts)]
    most = asked.index(max(asked))
    return (
        f"Balance weight {weight}, room for {room} at each expert (capacity factor "
        f"{room * n_experts / len(line):.3g}): {passing} of {len(line)} letters pass by. Most "
        f"asked: expert {most + 1}, by {max(asked)}; not asked: {asked.count(0)} of {n_experts}."
    )


def _home(i: int) -> tuple[int, int]:
    return 8 + STEP * (i % A_LINE), TOP + 26 * (i // A_LINE)


def _pass(i: int) -> tuple[int, int]:
    return 8 + STEP * (i % A_LINE), LANE + 26 * (i // A_LINE)


def _slot(e: int, k: int) -> tuple[int, int]:
    return 9 + 48 * e + 22 * (k % 2), EXPERTS + 24 * (k // 2)


def _drawing(line: str, experts: Sequence[int], n_experts: int, room: int) -> str:
    """Homes, slots and letters, in the order in which the script finds them."""
    square = f'width="{SIDE}" height="{SIDE + 2}" rx="3"'
    parts = [
        f'<text x="8" y="14">the line</text><text x="8" y="{LANE - 8}">pass by, in the residual '
        "stream</text>"
    ]
    for i, letter in enumerate(line):
        x, y = _home(i)
        parts.append(
            f'<rect class="rt-home" x="{x}" y="{y}" {square}/>'
            f'<text class="rt-name" x="{x + SIDE // 2}" y="{y + 16}">'
            f"{escape(format_letter(letter))}</text>"
        )
    for e in range(n_experts):
        x, y = _slot(e, 0)
        parts.append(f'<text class="rt-name" x="{x + 21}" y="{y - 8}">E{e + 1}</text>')
        for k in range(A_LINE):
            x, y = _slot(e, k)
            hidden = "" if k < room else ' visibility="hidden"'
            parts.append(f'<rect class="rt-slot" x="{x}" y="{y}" {square}{hidden}/>')
    passed = 0
    for letter, place in zip(line, expert_slots(experts, room), strict=True):
        x, y = _slot(*place) if place else _pass(passed)
        passed += place is None
        parts.append(
            f'<g class="rt-letter{"" if place else " rt-out"}" '
            f'style="transform:translate({x}px,{y}px)">'
            f'<rect {square}/><text x="{SIDE // 2}" y="16">'
            f"{escape(format_letter(letter))}</text></g>"
        )
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="Letters at their experts, and '
        f'those that pass by">{"".join(parts)}</svg>'
    )


def format_letter(letter: str) -> str:
    """A letter as it is drawn: a space as a low line."""
    return "_" if letter == " " else letter


_STYLE = """
.rt { max-width: 36rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }
.rt svg { display: block; width: 100%; height: auto; font: 14px system-ui, sans-serif; }
.rt svg text { fill: currentColor; }
.rt svg text.rt-name, .rt-letter text { text-anchor: middle; }
.rt-letter text { font: 600 15px ui-monospace, monospace; }
.rt-home { fill: none; stroke: currentColor; stroke-opacity: .25; }
.rt-slot { fill: none; stroke: @value; stroke-width: 1.5; }
.rt-letter rect { fill: @value; fill-opacity: .3; }
.rt-out rect { fill: @query; fill-opacity: .3; stroke: @query; stroke-dasharray: 3 2; }
.rt-moves .rt-letter { transition: transform .7s ease-in-out; }
@media (prefers-reduced-motion: reduce) { .rt-moves .rt-letter { transition: none; } }
.rt-choose { display: grid; grid-template-columns: max-content 1fr 3.4rem; gap: .2em .6em;
  align-items: center; }
.rt-choose[hidden], .rt button[hidden] { display: none; }
.rt-choose input { width: 100%; min-height: 2.4rem; accent-color: @value; margin: 0; }
.rt-choose output { font-variant-numeric: tabular-nums; }
.rt button { font: inherit; color: inherit; cursor: pointer; margin: 0; padding: .3em .7em;
  background: transparent; border: 1px solid color-mix(in srgb, currentColor 55%, transparent);
  border-radius: .4em; min-height: 2.4rem; }
.rt :focus-visible { outline: 3px solid @key; outline-offset: 2px; }
.rt p { margin: .4em 0; min-height: 4.2em; font-variant-numeric: tabular-nums; }
@media print { .rt-choose, .rt button { display: none; } .rt p { min-height: 0; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="rt" id="{id}" role="group" aria-label="Letters and their experts">
<div class="rt-choose" hidden><label for="{id}w">balance weight</label><input id="{id}w"
type="range" min="0" max="{last}" step="1" value="0"><output>{weight}</output>
<label for="{id}r">room</label><input id="{id}r" type="range" min="1" max="{most}" step="1"
value="{room}"><output>{room}</output></div>
{drawn}
<button type="button" hidden>send the letters again</button>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""

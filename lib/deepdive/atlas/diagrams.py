"""A system as its parent's diagram with only the change lit, from the two module trees and the
header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from deepdive.diagrams import ROLES, svg, text
from deepdive.trace import Row as Module

from .headers import Header
from .specimens import Specimen

ROLE = {"head": "query", "layer": "value", "between": "weight", "around": "key", "other": "output"}
TALL, GAP, INDENT, WIDE = 28.0, 8.0, 22.0, 330.0
DEEP = 4  # levels of modules that are drawn
Part = tuple[int, str, int]  # depth, class, how many of it in a row


def parts(specimen: Specimen) -> list[Part]:
    """The modules in the order of their calls, four levels deep; equal neighbours become one."""

    def kinds(row: Module) -> tuple[str, ...]:
        return (row.kind, *(kind for inner in row.inside for kind in kinds(inner)))

    def walk(rows: list[Module], depth: int) -> Iterator[Part]:
        at = 0
        while at < len(rows) and depth < DEEP:
            same = at + 1
            while same < len(rows) and kinds(rows[same]) == kinds(rows[at]):
                same += 1
            yield depth, rows[at].kind, same - at
            yield from walk(rows[at].inside, depth + 1)
            at = same

    return list(walk(specimen.traced.top.inside, 0))


def changes(parent: list[Part], child: list[Part]) -> Iterator[tuple[str, Part]]:
    """Yield each part with "same", "new" or "gone", in the order in which both can be read."""
    matcher = SequenceMatcher(None, [p[:2] for p in parent], [p[:2] for p in child], autojunk=False)
    for what, a, b, c, d in matcher.get_opcodes():
        if what == "equal":
            for old, new in zip(parent[a:b], child[c:d], strict=True):
                yield ("same" if old[2] == new[2] else "new"), new
        else:
            yield from (("gone", part) for part in parent[a:b])
            yield from (("new", part) for part in child[c:d])


def drawn(header: Header, place: str, parent: Specimen, child: Specimen) -> tuple[str, str]:
    """Return the diagram as SVG, and its alternative text."""
    named = set(re.findall(r"\b[A-Z]\w+", " ".join(re.findall(r"`([^`]+)`", str(header.differs)))))
    found = [
        ("new" if what == "same" and part[1] in named else what, part)
        for what, part in changes(parts(parent), parts(child))
    ]
    lit, body, y = ROLES[ROLE[place]], [], 30.0
    body.append(text(WIDE / 2, 12, f"{header.parent} → {header.system}", 15, bold=True))
    for what, (depth, kind, many) in found:
        colour = {"new": lit, "same": "currentColor", "gone": "currentColor"}[what]
        fill = {"new": 0.3, "same": 0.05, "gone": 0.0}[what]
        edge = {"new": 1.0, "same": 0.35, "gone": 0.35}[what]
        dash = ' stroke-dasharray="4 3"' if what == "gone" else ""
        x, wide = depth * INDENT + 1, WIDE - depth * INDENT - 2
        body.append(
            f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{TALL:g}" rx="6" fill="{colour}" '
            f'fill-opacity="{fill}" stroke="{colour}" stroke-opacity="{edge}"{dash}/>'
        )
        words = f"{kind} × {many}" if many > 1 else kind
        words = {"new": words, "same": words, "gone": f"without {words}"}[what]
        body.append(text(x + wide / 2, y + TALL / 2 + 1, words, 14, bold=what == "new"))
        y += TALL + GAP
    told = {what: [part[1] for w, part in found if w == what] for what in ("new", "gone")}
    alt = (
        f"The modules of {header.system} in the order of their calls, beside its parent's. "
        f"Lit: {', '.join(dict.fromkeys(told['new'])) or 'nothing'}. "
        f"Dashed, no longer there: {', '.join(dict.fromkeys(told['gone'])) or 'nothing'}."
    )
    return svg(WIDE, y, body), alt

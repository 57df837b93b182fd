"""A system as its parent's diagram with only the change lit, from the two module trees and the
header.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.trace import Row as Module
from deepdive_book.site.atlas.headers import Header
from deepdive_book.site.atlas.specimens import Specimen

ROLE = {"head": "query", "layer": "value", "between": "weight", "around": "key", "other": "output"}
TALL, GAP, INDENT, WIDE = 28.0, 8.0, 22.0, 330.0
DEEP = 4  # levels of modules that are drawn
Part = tuple[int, str, int]  # depth, class, how many of it in a row
Change = tuple[str, Part]  # "same", "new" or "gone"


def parts(rows: list[Module], depth: int = 0) -> Iterator[Part]:
    """Yield the modules in the order of their calls; equal neighbours become one."""
    at = 0
    while at < len(rows):
        same = at + 1
        while same < len(rows) and _kinds(rows[same]) == _kinds(rows[at]):
            same += 1
        yield depth, rows[at].kind, same - at
        yield from parts(rows[at].inside, depth + 1)
        at = same


def _kinds(row: Module) -> tuple[str, ...]:
    return (row.kind, *(kind for inner in row.inside for kind in _kinds(inner)))


def changes(parent: list[Part], child: list[Part]) -> Iterator[Change]:
    """Yield each part with "same", "new" or "gone", in the order in which both can be read."""
    for what, a, b, c, d in _match(parent, child).get_opcodes():
        if what == "equal":
            for old, new in zip(parent[a:b], child[c:d], strict=True):
                yield ("same" if old[2] == new[2] else "new"), new
        else:
            yield from (("gone", part) for part in parent[a:b])
            yield from (("new", part) for part in child[c:d])


def _match(parent: list[Part], child: list[Part]) -> SequenceMatcher[tuple[int, str]]:
    return SequenceMatcher(None, [p[:2] for p in parent], [p[:2] for p in child], autojunk=False)


def difference(parent: list[Module], child: list[Module], named: set[str]) -> list[Change]:
    """Return the changes that a picture shows, new also what is `named` so.

    A parent that is wrapped, a BERT in its heads say, is read from the module inside it that is
    most like the child; the wrappers come first, gone. Shown are the first `DEEP` levels, and
    deeper ones where they differ, unless something around them differs already.
    """
    wrappers: list[Change] = []
    mine = list(parts(child))
    while inside := [row for top in parent for row in top.inside]:
        whole = _match(list(parts(parent)), mine).ratio()
        best = max(inside, key=lambda row: _match(list(parts([row])), mine).ratio())
        if _match(list(parts([best])), mine).ratio() <= whole:
            break
        without = [*parent, *(row for row in inside if row is not best)]
        wrappers += [("gone", (0, row.kind, 1)) for row in without if row.inside]
        parent = [best]
    shown, hidden = [], DEEP + 99
    for what, part in changes(list(parts(parent)), mine):
        what = "new" if what == "same" and part[1] in named else what
        depth = part[0]
        if depth <= hidden:
            hidden = depth if what != "same" and depth else DEEP + 99
        elif depth >= DEEP:
            continue
        if what != "same" or depth < DEEP:
            shown.append((what, part))
    return wrappers + shown


def diagram(header: Header, place: str, parent: Specimen, child: Specimen) -> tuple[str, str]:
    """Return the diagram as SVG, and its alternative text."""
    named = set(re.findall(r"\b[A-Z]\w+", " ".join(re.findall(r"`([^`]+)`", str(header.differs)))))
    found = difference(parent.traced.top.inside, child.traced.top.inside, named)
    lit, body, y = ROLES[ROLE[place]], [], 30.0
    body.append(text(WIDE / 2, 12, f"{header.parent} → {header.system}", 15, bold=True))
    for what, (depth, kind, many) in found:
        color = {"new": lit, "same": "currentColor", "gone": "currentColor"}[what]
        fill = {"new": 0.3, "same": 0.05, "gone": 0.0}[what]
        edge = {"new": 1.0, "same": 0.35, "gone": 0.35}[what]
        dash = ' stroke-dasharray="4 3"' if what == "gone" else ""
        x, wide = depth * INDENT + 1, WIDE - depth * INDENT - 2
        body.append(
            f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{TALL:g}" rx="6" fill="{color}" '
            f'fill-opacity="{fill}" stroke="{color}" stroke-opacity="{edge}"{dash}/>'
        )
        words = f"{kind} × {many}" if many > 1 else kind
        words = {"new": words, "same": words, "gone": f"without {words}"}[what]
        body.append(text(x + wide / 2, y + TALL / 2 + 1, words, 14, bold=what == "new"))
        y += TALL + GAP
    names = {what: [part[1] for w, part in found if w == what] for what in ("new", "gone")}
    alt = (
        f"The modules of {header.system} in the order of their calls, beside its parent's. "
        f"Lit: {', '.join(dict.fromkeys(names['new'])) or 'nothing'}. "
        f"Dashed, no longer there: {', '.join(dict.fromkeys(names['gone'])) or 'nothing'}."
    )
    return svg(WIDE, y, body), alt

"""A family as a tree: the reader presses a member, and reads what it changed.

    bert = Member("bert", "BERT", "", "2018", "around", ["it reads both ways"], printed="...")
    family([bert, Member("roberta", "RoBERTa", "bert", ...)], chosen="roberta")

One row a member, its children below it and further right. The places where a member can differ are
those of the atlas, and it may differ in several: one can be chosen, and the members that differ
nowhere there turn pale. Without scripts all cards stand below the tree.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, marked, script, unmarked
from deepdive_book.kit.palette import ROLES

PLACES = {
    "head": ("in a head", "query"),
    "layer": ("in a layer", "value"),
    "between": ("between layers", "key"),
    "around": ("around the stack", "output"),
}
WIDE, HIGH, INDENT = 364.0, 30.0, 22.0  # of the tree, of a row, of a generation
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Member:
    """One member; `parent` is the id of another, or "". `backticks` become code in the sentences.

    place    keys of `PLACES`, the most important first, with spaces between: "head around"
    differs  what it changed, a sentence each
    printed  what its paper reports, with the table
    held     what was proved of it here
    section  where the page speaks of it: an anchor, or ""
    """

    id: str
    name: str
    parent: str
    year: str
    place: str
    differs: Sequence[str]
    printed: str = ""
    held: str = ""
    section: str = ""


def family(members: Sequence[Member], *, chosen: str) -> Html:
    """Return the tree, with the card of the member that is chosen at first.

    Args:
        members: a parent stands before its children.
        chosen: the id of one of them.

    Raises:
        ValueError: two have one id, a parent does not stand before its child, a place is unknown,
            or `chosen` is no member.
    """
    depth: dict[str, int] = {}
    for one in members:
        if one.id in depth:
            raise ValueError(f"members: {one.id!r} stands there twice")
        if one.parent and one.parent not in depth:
            raise ValueError(f"members: {one.parent!r}, parent of {one.id!r}, must stand before it")
        if not one.place or not set(one.place.split()) <= set(PLACES):
            raise ValueError(f"place of {one.id!r} is {one.place!r}; expected {', '.join(PLACES)}")
        depth[one.id] = depth[one.parent] + 1 if one.parent else 0
    if chosen not in depth:
        raise ValueError(f"chosen is {chosen!r}; the members are {', '.join(depth)}")
    names = {one.id: one.name for one in members}
    cards = "".join(_card(one, names.get(one.parent, "")) for one in members)
    drawn = _tree(members, depth)
    name = f"fm{hashlib.sha256((drawn + cards).encode()).hexdigest()[:10]}"
    every = [("", "anywhere"), *((key, words) for key, (words, _) in PLACES.items())]
    choices = "".join(
        f'<label><input type="radio" name="{name}-place" value="{place}"{" checked" * (not place)}>'
        f" {words}</label>"
        for place, words in every
    )
    html = _PAGE.format(
        id=name, tree=drawn, cards=cards, choices=choices, **ROLES,
        script=script(_SCRIPT, id=name, chosen=chosen),
    )  # fmt: skip
    lines = [f"{'  ' * depth[one.id]}{one.name} ({one.year}): {_first(one)}" for one in members]
    alt = f"A family tree of models. {'; '.join(_line(one, names) for one in members)}."
    return Html(html, "\n".join(lines), [Picture([drawn], alt, ["who has whom as parent"])])


def where(one: Member) -> str:
    """The places where a member differs, in words: "in a head, in a layer"."""
    return ", ".join(PLACES[place][0] for place in one.place.split())


def _first(one: Member) -> str:
    return unmarked(one.differs[0]) if one.differs else where(one)


def _line(one: Member, names: dict[str, str]) -> str:
    return f"{one.name}, child of {names[one.parent]}" if one.parent else one.name


def _tree(members: Sequence[Member], depth: dict[str, int]) -> str:
    """Rows with dots in the colours of their places, elbows from parent to child."""
    rows = {one.id: i for i, one in enumerate(members)}
    lines, body = [], []
    for one in members:
        x, y = 12 + INDENT * depth[one.id], HIGH * (rows[one.id] + 0.5)
        role = PLACES[one.place.split()[0]][1]
        words = where(one)
        if one.parent:
            top = HIGH * (rows[one.parent] + 0.5) + 7
            lines.append(f'<path d="M{x - INDENT:g} {top:g}V{y:g}H{x - 7:g}"/>')
        # a root differs from nobody who is shown
        label = escape(f"{one.name}, {one.year}" + f", differs {words}" * bool(one.parent))
        at = f" · {', '.join(one.place.split())}" * bool(one.parent)  # short: it shares a line
        place = one.place * bool(one.parent)
        color = ROLES[role] if one.parent else "currentColor"
        body.append(
            f'<g class="fm-row" data-id="{escape(one.id)}" data-place="{place}" '
            f'data-label="{label}">'
            f'<rect class="fm-field" x="{x - 11:g}" y="{y - HIGH / 2 + 1:g}" '
            f'width="{WIDE - x + 10:g}" height="{HIGH - 2:g}" rx="5" fill="currentColor" '
            'fill-opacity="0"/>'
            f'<circle cx="{x:g}" cy="{y:g}" r="6" fill="{color}"/>'
            f'<text x="{x + 13:g}" y="{y:g}" font-size="14" dominant-baseline="central" '
            f'fill="currentColor">{escape(one.name)}</text>'
            f'<text x="{WIDE - 6:g}" y="{y:g}" font-size="12" text-anchor="end" class="fm-when" '
            'dominant-baseline="central" fill="currentColor">'
            f"{escape(one.year)}{at}</text></g>"
        )
    high = HIGH * len(members)
    # opacity of the whole: where lines lie on each other they are no darker
    elbows = f'<g fill="none" stroke="currentColor" opacity=".5">{"".join(lines)}</g>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {high:g}" width="{WIDE:g}" '
        f'style="max-width:100%;height:auto;{FONT}" class="fm-tree" role="img" '
        f'aria-label="Who has whom as parent">{elbows}{"".join(body)}</svg>'
    )


def _card(one: Member, parent: str) -> str:
    of = f", child of {escape(parent)}" if parent else ""
    what = f"What differs, {where(one)}:" if parent else "What is new:"
    differs = one.differs or ["No code of it stands here yet."]
    said = "".join(f"<li>{marked(each)}</li>" for each in differs)
    more = "".join(
        f"<p><b>{title}</b> {marked(words)}</p>"
        for title, words in (("Printed:", one.printed), ("Proved here:", one.held))
        if words
    )
    link = f'<p><a href="#{escape(one.section)}">Its section on this page</a></p>'
    return (
        f'<div class="fm-card" data-id="{escape(one.id)}"><p><b class="fm-name">{escape(one.name)}'
        f"</b>, {escape(one.year)}{of}. {what}</p><ul>{said}</ul>"
        f"{more}{link if one.section else ''}</div>"
    )


_PAGE = """\
<style>
.fm :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.fm label {{ padding-block: .25rem; }}
.fm {{ max-width: 52rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.fm p {{ margin: .35em 0; }}
.fm-both {{ display: grid; grid-template-columns: minmax(0, 364px) minmax(0, 1fr); gap: 1.2em; }}
.fm-tree {{ display: block; }}
.fm.fm-live .fm-row {{ cursor: pointer; }}
.fm-row:focus {{ outline: none; }}
.fm-row:focus-visible .fm-field {{ stroke: currentColor; stroke-width: 2; }}
.fm-row:hover .fm-field {{ fill-opacity: .06; }}
.fm-row[aria-checked=true] .fm-field {{ fill-opacity: .12; }}
.fm-row[aria-checked=true] text:not(.fm-when) {{ font-weight: 600; }}
.fm-row.fm-pale circle {{ fill-opacity: .25; }}
.fm-row.fm-pale text {{ fill-opacity: .7; }}
.fm-name {{ font-size: 1.1em; }}
.fm-card ul {{ margin: .2em 0 .5em; padding-left: 1.2em; }}
.fm-card li {{ margin: .15em 0; }}
.fm-card {{ overflow-wrap: anywhere; }}
.fm-card[hidden] {{ display: none; }}
.fm-places {{ border: 0; margin: .2em 0 .5em; padding: 0; display: flex; flex-wrap: wrap;
  gap: .1em 1em; align-items: center; }}
.fm-places[hidden] {{ display: none; }}
.fm-places legend {{ float: left; padding: 0; margin: 0 .2em 0 0; font-size: 1em;
  font-weight: 600; width: auto; }}
.fm-places label {{ display: inline-flex; gap: .35em; align-items: center; margin: 0; }}
.fm-places input {{ margin: 0; accent-color: {output}; }}
@media (max-width: 700px) {{
  .fm-both {{ grid-template-columns: minmax(0, 1fr); }}
  .fm.fm-live .fm-cards {{ position: sticky; bottom: 0; max-height: 45vh; overflow: auto;
    padding: .3em 0; border-top: 1px solid; background: var(--pst-color-background, Canvas); }}
}}
@media print {{ .fm-places {{ display: none; }} }}
</style>
<div class="fm" id="{id}" role="group" aria-label="A family of models">
<fieldset class="fm-places" hidden><legend>Show those that differ:</legend>{choices}</fieldset>
<div class="fm-both"><div>{tree}</div>
<div class="fm-cards" role="status" aria-live="polite">{cards}</div></div>
</div>
{script}"""

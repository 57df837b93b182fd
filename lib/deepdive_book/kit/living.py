"""Interactive figures: one frame, one set of controls, one script and style sheet for all of them.

    living("turn", "An arrow to turn", drawing=svg, alt="...", status="At 70 degrees.",
           controls=[Slider("angle", "arrow", 70, most=359)], code=_SCRIPT, spec={"radius": 78})

A figure is its data (`spec`), its first state as Python draws it, and a short script that defines
`draw()`: it shows `state`, which has a value for each control and what else the figure names, and
returns the status line. `living.js` has what it may use: find, make, write, set, on, onArrows.
Without scripts (on paper, on GitHub) the still stands there as an image, with the status below it.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, marked, script
from deepdive_book.kit.palette import ROLES, painted

_BASE = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Choice:
    """A list; its state is the index of the option."""

    name: str
    label: str
    options: Sequence[str]
    value: int = 0

    def html(self) -> str:
        options = "".join(f"<option>{escape(option)}</option>" for option in self.options)
        return (
            f"<label>{escape(self.label)} "
            f'<select data-control="{self.name}">{options}</select></label>'
        )


@dataclass(frozen=True)
class Slider:
    """A whole number from `least` to `most`; `labels` are shown in place of the numbers."""

    name: str
    label: str
    value: int
    most: int
    least: int = 0
    labels: Sequence[str] = ()

    def html(self) -> str:
        labels = f' data-labels="{escape(json.dumps([*self.labels]))}"' if self.labels else ""
        return (
            f'<label class="living-slider">{escape(self.label)} <input type="range" '
            f'data-control="{self.name}" min="{self.least}" max="{self.most}"{labels}>'
            " <output></output></label>"
        )


@dataclass(frozen=True)
class Switch:
    """A box to check; its state is true or false."""

    name: str
    label: str
    value: bool = False

    def html(self) -> str:
        return (
            f'<label><input type="checkbox" data-control="{self.name}"> '
            f"{escape(self.label)}</label>"
        )


@dataclass(frozen=True)
class Button:
    """What the script does by `on(name, ...)`; it has no state."""

    name: str
    label: str

    def html(self) -> str:
        return f'<button type="button" data-control="{self.name}">{escape(self.label)}</button>'


Control = Choice | Slider | Switch | Button


def living(
    name: str, title: str, *, code: str, status: str, drawing: str, alt: str = "",
    spec: Mapping[str, Any], state: Mapping[str, Any] | None = None,
    controls: Sequence[Control] = (), above: str = "", below: str = "", style: str = "",
    try_this: str = "", wide: float = 34, lines: int = 2, plain: str = "",
) -> Html:  # fmt: skip
    """Return the figure in its first state.

    Args:
        name: what its ids begin with;  title: what stands above it.
        code: the script that defines `draw()`.
        status: the first state in words, as `draw()` returns it.
        drawing: the first state, SVG that needs no style sheet, or HTML.
        alt: what SVG shows, for those who do not see it.
        spec: the script's data;  state: what changes besides the controls' values.
        above, below: HTML over and under the drawing;  style: its rules, "@key" a role's color.
        try_this: what to do, and what to look at; backticks become code.
        wide: the largest width in rem;  lines: that the status takes on a desk.
        plain: what terminals show, if not the status.
    """
    values = {c.name: c.value for c in controls if not isinstance(c, Button)}
    given = {"spec": dict(spec), "state": {**values, **(state or {})}, "roles": ROLES}
    data = json.dumps([given, title, drawing, above, below, code], ensure_ascii=False)
    key = f"{name}{hashlib.sha256(data.encode()).hexdigest()[:10]}"
    if given["state"]:
        controls = [*controls, Button("reset", "reset")]
    row = "".join(control.html() for control in controls)
    html = _PAGE.format(
        id=key, title=escape(title), style=painted(_STYLE + style), wide=f"{wide:g}", lines=lines,
        hint=_HINT.format(marked(try_this)) if try_this else "",
        controls=_CONTROLS.format(row) if row else "",
        above=above, still=_still(drawing, alt), below=below, status=escape(status),
        script=script(f"{_BASE}{{\n{code}\nbegin(draw);\n}}", id=key, **given),
    )  # fmt: skip
    pictures = [Picture([drawing], alt, [title])] if drawing.startswith("<svg") else []
    return Html(html, f"[{title}: {plain or status}]", pictures)


def _still(drawing: str, alt: str) -> str:
    """The drawing as an image, from which the script reads it; HTML stays as it is."""
    if not drawing.startswith("<svg"):
        return drawing
    words = f'role="img" aria-label="{escape(alt)}"'
    text = base64.b64encode(drawing.replace('role="img"', words, 1).encode()).decode()
    return f'<img class="living-still" alt="{escape(alt)}" src="data:image/svg+xml;base64,{text}">'


_HINT = '<p class="living-try" hidden><b>Try this:</b> {}</p>\n'
_CONTROLS = '<div class="living-controls" hidden>{}</div>\n'
_PAGE = """\
<style>{style}</style>
<div class="living" id="{id}" role="group" aria-label="{title}"
style="--wide:{wide}rem;--lines:{lines}">
<p class="living-title">{title}</p>
{hint}{controls}{above}
<div class="living-drawing">{still}</div>
{below}<p class="living-status" role="status" aria-live="polite">{status}</p>
</div>
{script}"""

"""HTML for a notebook's output: its plain form, texts, a script with its values, and steps.

Everything stands in the output itself: nothing comes from a network, nothing needs widgets.
"""

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from deepdive_book.kit.figures import Picture, save


class Html:
    """HTML for a notebook's output, with a plain form for terminals and scripts.

    `pictures` are what it shows where nothing moves.
    """

    def __init__(self, html: str, plain: str, pictures: Sequence[Picture] = ()) -> None:
        self.html = html
        self.plain = plain
        self.pictures = pictures

    def _repr_html_(self) -> str:
        for picture in self.pictures:
            save(picture)
        return self.html

    def __repr__(self) -> str:
        return self.plain


def marked(text: str) -> str:
    """Escape plain text; what stands in backticks becomes code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


FORMULA = re.compile(r"\$(?=\S)([^$]+)(?<=\S)\$(?!\d)")


def marked_formulas(text: str) -> str:
    """As `marked`; `$...$` gets an element, which Jupyter typesets and the book makes MathML."""
    return "".join(
        f'<span class="dd-formula">${escape(part)}$</span>' if place % 2 else marked(part)
        for place, part in enumerate(FORMULA.split(text))
    )


def unmarked(text: str) -> str:
    """The plain form of what `marked_formulas` reads, without backticks and dollars."""
    return re.sub(r"`([^`]+)`", r"\1", FORMULA.sub(r"\1", text))


def script(body: str, **values: Any) -> str:
    """Return a script element whose body reads the values (JSON) as `given.name`."""
    # "<" escaped, so that no text can close the script element
    given = json.dumps(values).replace("<", "\\u003c")
    return f"<script>(given => {{{body}}})({given})</script>"


# Steps through what an element shows, from 0 to `last`, by its first two buttons or the arrow keys.
# The body after it declares `last` and `show`, which draws step `at`, and begins with go(0). The
# buttons are dimmed, never disabled: a disabled one would lose the focus, and with it the keys.
STEPS = """
const box = document.getElementById(given.id), [back, next, more] = box.querySelectorAll("button");
let at = 0;
const dim = (button, yes) => {
  button.setAttribute("aria-disabled", yes);
  button.style.opacity = yes ? 0.5 : 1;
};
const go = to => {
  at = Math.max(0, Math.min(last, to));
  dim(back, at === 0); dim(next, at === last);
  show();
};
back.onclick = () => go(at - 1);
next.onclick = () => go(at + 1);
box.addEventListener("keydown", event => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (by) { go(at + by); event.preventDefault(); }
});
box.querySelector(".controls").hidden = false;
"""

"""No page tells the answer of a prediction before the reader commits.

What a reader sees before that is all that stands above the prediction, and what follows it in its
section without being hidden: prose, captions, alternative texts, code that is not folded, and
outputs. A passage tells the answer if it has the words and numbers that set the right option apart
from the wrong ones, speaks of what the question asks, and does not weigh a wrong option as well.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import nbformat
import pytest

from deepdive.house.pages import Page, discover

# Words that tell nothing, beside those of one or two letters.
IDLE = set(
    """the and but for not its than that this these those with without from into onto over under
    are was were has have had does did will would can could may what which who whose how when where
    then there here they them their one two all any each every same other another more most less
    very only about nearly almost little well also too between upon out off you your our
    """.split()
)


@dataclass(frozen=True)
class Prediction:
    """A question of a page, its options, and the cell where it stands."""

    at: int
    question: str
    right: str
    wrong: tuple[str, ...]
    key: str


def predictions(cells: list[Any]) -> Iterator[Prediction]:
    """The predictions of a page, as its code asks them."""
    for at, cell in enumerate(cells):
        if cell.cell_type != "code" or "page.predictions" not in "".join(
            c.source for c in cells[: at + 1] if c.cell_type == "code"
        ):
            continue
        last = ast.parse(cell.source).body[-1:]
        call = last[0].value if last and isinstance(last[0], ast.Expr) else None
        if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "predict":
            continue
        question, options = (ast.literal_eval(arg) for arg in call.args[:2])
        named = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        right = options.pop(named["answer"])
        yield Prediction(at, question, right, tuple(options), named["key"])


def tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def heading(cell: Any) -> bool:
    """Whether a cell begins a part of the page; the heading of an answer does not."""
    found = re.search(r"^#{1,6} ", cell.source, re.MULTILINE)
    return cell.cell_type == "markdown" and bool(found) and "answer" not in tags(cell)


def seen_before(cells: list[Any], prediction: Prediction) -> Iterator[tuple[int, str]]:
    """Each cell's number, and a passage in it, that a reader sees before committing."""
    below, hidden = False, False
    for at, cell in enumerate(cells):
        if at == prediction.at:
            below = True
            continue
        if below:
            if "answer" in tags(cell):
                hidden = True
            if heading(cell):
                before = re.split(r"^#{1,6} ", cell.source, flags=re.MULTILINE)[0]
                if not hidden:
                    yield from ((at, text) for text in prose(before))
                return
            if hidden:
                continue
        yield from ((at, text) for text in passages(cell))


def passages(cell: Any) -> Iterator[str]:
    """What a cell shows: sentences, lines of code, and lines of outputs."""
    if cell.cell_type == "markdown":
        yield from prose(cell.source)
        return
    if "setup" in tags(cell):
        return
    if "fold" not in tags(cell):
        yield from cell.source.split("\n")
    for out in cell.outputs:
        data = out.get("data", {})
        shown = data.get("text/html", "")
        if 'class="predict"' in shown:
            continue
        for kind in data:
            yield from sentences(out.metadata.get(kind, {}).get("alt", ""))
        yield from lines(shown) if shown else str(
            out.get("text") or data.get("text/plain", "")
        ).split("\n")


def lines(shown: str) -> list[str]:
    """The rows of an output in HTML, without its scripts."""
    shown = re.sub(r"<(script|style|svg)\b.*?</\1>", "", shown, flags=re.DOTALL)
    rows = re.split(r"</(?:tr|p|li|div|figcaption|caption|summary)>", shown)
    return [html.unescape(re.sub(r"<[^>]+>", " ", row)) for row in rows]


def prose(text: str) -> Iterator[str]:
    """The sentences of a text, and the rows of its tables, without what is folded in it."""
    text = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n", text):
        yield from block.split("\n") if block.lstrip().startswith("|") else sentences(block)


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?:])[*_]*\s+(?=\S)", " ".join(text.split()))

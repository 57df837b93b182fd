"""A row of folds that show only lines of text is one fold; a picture, a table or a text ends it."""

from __future__ import annotations

import sys
from typing import Any

from checkout import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

sys.path.append(str(ROOT / "book"))

from stage import in_one_fold, plumbing_last

LINES = new_output("stream", name="stdout", text="66 topics")
PICTURE = new_output("display_data", data={"text/html": "<img>"})


def fold(name: str, *outputs: Any, tags: tuple[str, ...] = ("fold", "hide-input")) -> Any:
    about = {"tags": list(tags)} | ({"title": name.capitalize()} if name else {})
    return new_code_cell(f"{name or 'x'}()", metadata=about, outputs=list(outputs))


def named(cells: list[Any]) -> list[str]:
    return [cell.metadata.get("title", cell.cell_type) for cell in in_one_fold(cells)]


def test_folds_without_a_picture_join_the_next_one() -> None:
    cells = [fold("read", LINES), fold("find"), fold("draw", PICTURE), fold("count", LINES)]
    (joined, alone) = in_one_fold(cells)
    assert joined.metadata["title"] == "Read · Find · Draw"
    assert joined.metadata["mystnb"]["code_prompt_show"] == "Read · Find · Draw"
    assert joined.source == "read()\n\n\nfind()\n\n\ndraw()"
    assert joined.outputs == [LINES, PICTURE], "what they print stands above the picture"
    assert alone.metadata["title"] == "Count"


def test_what_is_no_fold_or_shows_more_stays_apart() -> None:
    text, code = new_markdown_cell("So it is."), new_code_cell("open()")
    setup = fold("setup", tags=("setup", "hide-cell"))
    assert named([setup, fold("a"), text, fold("b"), code, fold("c")]) == (
        ["Setup", "A", "markdown", "B", "code", "C"]
    )
    assert named([fold("a", PICTURE), fold("b")]) == ["A", "B"]
    assert named([fold("a"), fold("")]) == ["A · code"]


def test_tags_of_both_are_kept() -> None:
    (joined,) = in_one_fold([fold("a"), fold("b", tags=("fold", "hide-input", "surprise"))])
    assert joined.metadata["tags"] == ["fold", "hide-input", "surprise"]


def test_the_first_screen_is_text_and_a_picture_and_plumbing_comes_last() -> None:
    title, text, shown = new_markdown_cell("# A"), new_markdown_cell("*B*"), new_code_cell("open()")
    setup = fold("setup", tags=("setup", "hide-cell"))
    cells = [title, setup, fold("read", LINES), fold("draw", PICTURE), text, fold("c"), shown]
    assert [cell.metadata.get("title", cell.source) for cell in plumbing_last(cells)] == (
        ["# A", "Draw", "*B*", "C", "open()", "Setup", "Read"]
    )
    without = [title, setup, fold("read", LINES), text]
    assert plumbing_last(without) == [title, without[2], text, setup], "no picture"

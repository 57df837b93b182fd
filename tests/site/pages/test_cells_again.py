"""A cell that is run twice gives the result of one run.

Readers run cells again. So no cell changes in place a value that an earlier cell made: the change
would be made twice, on a list that has grown already. A cell makes the value itself, copies it, or
gives the result a name of its own.

Not counted, because a second run gives the same: an item or attribute that is set (`x[k] = v`), a
union (`|=`), `setdefault`, what sorts or clears, and PyTorch's `fill_`, `copy_` and `zero_`.
Training a model goes on where it stopped; that is no change of the cell's own, and isn't counted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from checkout import ROOT

from deepdive_book.site.pages import Page, discover
from deepdive_book.site.pages.source import load

ADDS = {"append", "appendleft", "extend", "extendleft", "insert", "pop", "popitem", "popleft"}
ADDS |= {"remove", "reverse", "subtract", "update"}
ADDS |= {f"{name}_" for name in ("add", "sub", "mul", "div", "pow", "neg", "exp", "log")}
SAME_TWICE = (ast.BitOr, ast.BitAnd)  # x | y | y == x | y
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)


def root_of(node: ast.AST) -> str | None:
    """The name that `a.b[0].c` begins with; None where a call makes a value of its own."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that one node binds, apart from those inside it."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name


def own_names(scope: ast.AST) -> set[str]:
    """The names that a function or comprehension binds for itself."""
    found: set[str] = set()
    shared: set[str] = set()
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        found |= set(bound_names(node))
        if isinstance(node, ast.Global | ast.Nonlocal):
            shared |= set(node.names)
        if not isinstance(node, SCOPES):
            todo += ast.iter_child_nodes(node)
    return found - shared


def adds(node: ast.AST) -> str | None:
    """The name whose value a node changes so that a second time adds to the first."""
    if isinstance(node, ast.AugAssign) and not isinstance(node.op, SAME_TWICE):
        return root_of(node.target)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return root_of(node.func.value) if node.func.attr in ADDS else None
    if isinstance(node, ast.Delete):
        kept = [target for target in node.targets if isinstance(target, ast.Subscript)]
        return root_of(kept[0]) if kept else None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        name = root_of(node.targets[0])
        into_itself = isinstance(node.targets[0], ast.Name) and name in grown(node.value)
        return name if into_itself else None
    return None


def grown(value: ast.AST) -> set[str | None]:
    """The names that a value continues: `a` and `b` of `a + b`, `a` of `[*a, 1]` and `{**a}`."""
    if isinstance(value, ast.BinOp) and not isinstance(value.op, SAME_TWICE):
        return grown(value.left) | grown(value.right)
    if isinstance(value, ast.List | ast.Tuple):
        return {root_of(each) for each in value.elts if isinstance(each, ast.Starred)}
    return {value.id} if isinstance(value, ast.Name) else set()


class Cell:
    """What one cell makes, and what it changes of the values that earlier cells made.

    earlier  the names of those values
    growing  for each function of the page, the names whose values a call of it adds to
    """

    def __init__(self, tree: ast.Module, earlier: set[str], growing: dict[str, set[str]]) -> None:
        self.earlier, self.growing = earlier, dict(growing)
        self.made: set[str] = set()
        self.imported: set[str] = set()
        self.found: list[str] = []
        self.all_made = own_names(tree)
        for statement in tree.body:
            self.walk(statement)

    def walk(self, node: ast.AST) -> None:
        """Look at a node of the module and at what is in it, values before the names they get."""
        if isinstance(node, SCOPES):
            self.function(node)
            self.made |= set(bound_names(node))
            return
        names = {adds(node)} if not isinstance(node, ast.Call) else {adds(node), *self.called(node)}
        if names & (self.earlier - self.made):
            self.found.append(ast.unparse(node).splitlines()[0])
        if isinstance(node, ast.AugAssign):
            self.walk(node.value)
            return
        order = ast.iter_child_nodes(node)
        for child in order if isinstance(node, ast.For) else sorted(order, key=is_target):
            self.walk(child)
        bound = set(bound_names(node))
        self.made |= bound
        self.imported |= bound if isinstance(node, ast.alias) else set()

    def called(self, node: ast.Call) -> set[str]:
        """The names whose values a called function of the page adds to."""
        return self.growing.get(node.func.id, set()) if isinstance(node.func, ast.Name) else set()

    def function(self, scope: ast.AST) -> None:
        """Note what a function adds to; a comprehension does it at once, and is looked at here."""
        changed = set(shared_adds(scope, set()))
        if isinstance(scope, ast.FunctionDef):
            self.growing[scope.name] = {name for name, _ in changed}
        before = self.made if isinstance(scope, COMPREHENSIONS) else self.all_made
        self.found += sorted(told for name, told in changed if name in self.earlier - before)


def is_target(node: ast.AST) -> bool:
    """Whether a node is what a value is bound to."""
    return isinstance(getattr(node, "ctx", None), ast.Store)


def shared_adds(node: ast.AST, local: set[str]) -> Iterator[tuple[str, str]]:
    """The names of outer scopes whose values a function adds to, each with the statement."""
    if isinstance(node, SCOPES):
        local = local | own_names(node)
    name = adds(node)
    if name and name not in local:
        yield name, ast.unparse(node).splitlines()[0]
    for child in ast.iter_child_nodes(node):
        yield from shared_adds(child, local)


def changed_twice(cells: Sequence[str]) -> list[str]:
    """What the code cells of a page change in place although an earlier cell made it."""
    found: list[str] = []
    values: set[str] = set()
    growing: dict[str, set[str]] = {}
    for source in cells:
        lines = ("pass" if line.startswith(("%", "!")) else line for line in source.splitlines())
        cell = Cell(ast.parse("\n".join(lines)), values, growing)
        found += cell.found
        values = (values | cell.made) - cell.imported
        growing = cell.growing
    return found


FAULTS = [
    (["rows = []", "rows += others()"], "rows += others()"),
    (["rows = []", "rows = rows + others()"], "rows = rows + others()"),
    (["rows = []", "rows = [*rows, 1]"], "rows = [*rows, 1]"),
    (["LESSONS = [1]", "LESSONS.append(2)\nshow(LESSONS)"], "LESSONS.append(2)"),
    (["net = make()", "net.weight.data[0] *= 10"], "net.weight.data[0] *= 10"),
    (["net = make()", "net.weight.data.mul_(10)"], "net.weight.data.mul_(10)"),
    (["body = []", "for x in (1, 2):\n    body += [x]"], "body += [x]"),
    (["body = []", "body.append(1)\nbody = []"], "body.append(1)"),
    (["seen = []", "def hook(x):\n    seen.append(x)"], "seen.append(x)"),
    (["seen = []\ndef hook(x):\n    seen.append(x)", "hook(1)"], "hook(1)"),
    (["table = {}", "del table['a']"], "del table['a']"),
    (["a = []", "[a.append(x) for x in (1, 2)]"], "a.append(x)"),
]
FINE = [
    ["rows = []\nrows += [1]\nrows.append(2)"],
    ["rows = [1]", "rows = list(old)\nrows += [2]"],
    ["rows = [1]", "more = [*rows, 2]\nmore.append(3)"],
    ["rows = [1]", "def f(rows):\n    rows.append(1)\n    return rows\nf([])"],
    ["rows = [1]", "def f():\n    rows = []\n    rows.append(1)\n    return rows\nf()"],
    ["def f(x):\n    found.append(x)\n\n\nfound = []\nf(1)"],
    ["from deepdive_book.kit import results", "results.update('a', 1)"],
    ["table = {}", "table['a'] = 1\ntable |= {'b': 2}\ntable.setdefault('c', 3)"],
    ["net = make()", "deepcopy(net).requires_grad_(False).weight.add_(1)"],
    ["x = torch.ones(2)", "y = x.log().add_(1)"],
    ["total = 0", "for total in (1, 2):\n    total += 1"],
]


@pytest.mark.parametrize(("cells", "told"), FAULTS)
def test_a_change_that_a_second_run_would_make_again_is_found(cells: list[str], told: str) -> None:
    assert changed_twice(cells) == [told]


@pytest.mark.parametrize("cells", FINE)
def test_what_a_second_run_makes_the_same_is_let_be(cells: list[str]) -> None:
    assert changed_twice(cells) == []


@pytest.mark.parametrize("page", discover(ROOT), ids=lambda page: page.name)
def test_no_cell_of_a_page_changes_what_an_earlier_one_made(page: Page) -> None:
    code: list[Any] = [cell.source for cell in load(page).cells if cell.cell_type == "code"]
    assert changed_twice(code) == []

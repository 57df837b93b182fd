"""A submission made whole: cells that lost their metadata are found again, or named as missing.

Colab and some editors drop the metadata of cells and their ids. A cell to write in is found by its
grade id; else by what it defines; else, where it defines nothing, by its place between texts that
students do not change. What is locked comes from the released form. Where no answer stands in a
cell, but one may stand beside it, that is said (`unclear`): a person looks.
"""

import ast
import re
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import nbformat

from deepdive_book.course.assignment.plan import without_magics

v4: Any = nbformat.v4  # it declares no types

_DEFINED = re.compile(r"^(?:async +)?(?:def|class) +(\w+)|^(\w+) *(?::[^=\n]*)?=(?!=)", re.M)
_IMAGE = re.compile(r"!(?=\[)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
# A link's bracket, unless the address is one of the web, of this page or of a file beside it.
_LINK = re.compile(r"\](?=[(:]\s*(?!https?://|mailto:|#|[\w./-]*(?:[\s)]|\Z)))")


@dataclass(frozen=True)
class Repaired:
    """The submission with all graded cells of its form, and what was done to it."""

    notebook: Any
    found: list[str] = field(default_factory=list)  # grade ids that had lost their metadata
    missing: list[str] = field(default_factory=list)  # grade ids that are nowhere
    double: list[str] = field(default_factory=list)  # grade ids of several cells: the last counts
    unclear: list[str] = field(default_factory=list)  # without an answer, which may stand elsewhere
    changed: list[str] = field(default_factory=list)  # ids of checks or points that are not ours
    borrowed: list[str] = field(default_factory=list)  # that import what their checks compare with


def defined(code: str) -> set[str]:
    """The names that a cell defines at its top; for code that does not parse, those it seems to."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deep
        return {name for pair in _DEFINED.findall(code) for name in pair if name}
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            leaves = [leaf for target in targets for leaf in ast.walk(target)]
            names |= {leaf.id for leaf in leaves if isinstance(leaf, ast.Name)}
    return names


def repair(form: Any, submission: Any) -> Repaired:
    """Return the submission with all cells of the released form that the grader knows.

    Students' other cells stay where they are, without the grader's metadata. Neither argument is
    changed.
    """
    form = deepcopy(form)
    marks = [_grader(cell) for cell in submission.cells]  # what the submission claims
    cells = [_bare(cell) for cell in submission.cells]
    search = _Search(form.cells, cells, marks)
    places, found, double = search.run()
    unclear = double | search.unclear()
    notebook = deepcopy(form)
    notebook.cells, missing = _woven(form.cells, cells, places)
    for number, cell in enumerate(notebook.cells):
        cell.id = _grader(cell).get("grade_id") or cell.get("id") or f"own-{number:04d}"
    ids = [cell.metadata["nbgrader"]["grade_id"] for cell in form.cells if writable(cell)]
    order = {name: i for i, name in enumerate(ids)}
    return Repaired(
        notebook,
        sorted(found, key=order.__getitem__),
        [name for name in missing if name in order],
        sorted(double, key=order.__getitem__),
        sorted(unclear, key=order.__getitem__),
        _changed(form.cells, submission.cells, marks),
    )


def _changed(form: list[Any], cells: list[Any], marks: list[dict[str, Any]]) -> list[str]:
    """Grade ids of cells whose check, points or kind a submission claims to be others than ours.

    A cell that claims points under an id that the form does not have is one of them. Blanks count
    for nothing, as editors change them.
    """
    ours = {_grader(cell)["grade_id"]: cell for cell in form if _grader(cell)}
    found = set()
    for cell, mark in zip(cells, marks, strict=True):
        name, given = str(mark.get("grade_id", "")), ours.get(mark.get("grade_id"))
        if given is None:
            found |= {name} if mark.get("grade") else set()
            continue
        what = _grader(given)
        same = all(mark.get(key) == what.get(key) for key in ("grade", "solution", "task"))
        same &= not what.get("grade") or mark.get("points") == what.get("points")
        if not (same and (writable(given) or _plain(cell.source) == _plain(given.source))):
            found.add(name)
    return sorted(found)


def doubtful(form: Any, whole: Repaired) -> set[str]:
    """Grade ids of the exercises with an unclear answer, and of those that use what it defines."""
    exercises: list[list[Any]] = [[]]
    for cell in form.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            exercises.append([])
        if name := _grader(cell).get("grade_id"):
            exercises[-1].append((name, cell.source))
    unclear = [pair for cells in exercises for pair in cells if pair[0] in whole.unclear]
    names = set().union(*(defined(text) for _, text in unclear))
    own = {cell.id: cell.source for cell in whole.notebook.cells}
    found: set[str] = set()
    for cells in exercises:
        words = set(re.findall(r"\w+", " ".join(own.get(name, "") for name, _ in cells)))
        if words & names or any(pair in unclear for pair in cells):
            found |= {name for name, _ in cells}
    return found


def _grader(cell: Any) -> dict[str, Any]:
    given = cell.metadata.get("nbgrader")
    return dict(given) if isinstance(given, dict) else {}


def _bare(cell: Any) -> Any:
    """The cell's text alone: metadata, outputs and attachments could hold anything.

    Outside code it is made harmless, too.
    """
    code = cell.get("cell_type") == "code"
    new = v4.new_code_cell if code else v4.new_markdown_cell
    bare = new(cell.source if code else _harmless(cell.source))
    bare.pop("id", None)
    return bare


def _harmless(markdown: str) -> str:
    """Text whose HTML, images and `javascript:` links are text.

    nbgrader's pages would run or load them in the browser of who marks.
    """
    return _LINK.sub("&#93;", _IMAGE.sub("&#33;", _TAG.sub("&lt;", markdown)))


def writable(cell: Any) -> bool:
    """Whether students write in this cell of the form."""
    given = _grader(cell)
    return bool(given.get("solution") or given.get("task"))


def _plain(text: str) -> str:
    lines = (line.strip() for line in _harmless(text).splitlines())
    return "\n".join(line for line in lines if line)


class _Search:
    """Finds the cells of a form in a submission: index in the form -> index in the submission."""

    def __init__(self, form: list[Any], cells: list[Any], marks: list[dict[str, Any]]) -> None:
        self.form, self.cells, self.marks = form, cells, marks
        self.texts = [_plain(cell.source) for cell in cells]
        self.names = cache(defined)
        self.places: dict[int, int] = {}

    def run(self) -> tuple[dict[int, int], set[str], set[str]]:
        found, double = set(), set()
        graded = [i for i, cell in enumerate(self.form) if _grader(cell)]
        for i in graded:
            name = _grader(self.form[i])["grade_id"]
            claims = [j for j, mark in enumerate(self.marks) if mark.get("grade_id") == name]
            if claims:
                # A copy in which nothing was written is no answer.
                claims = [j for j in claims if self._written(i, j)] or claims
                self.places[i] = claims[-1]
                differ = len({self.texts[j] for j in claims}) > 1
                double |= {name} if differ and writable(self.form[i]) else set()
        self._same_text()
        for how in (self._by_names, self._by_place):
            for i in graded:
                if i not in self.places and (j := how(i)) is not None:
                    self.places[i] = j
                    if writable(self.form[i]):
                        found.add(_grader(self.form[i])["grade_id"])
        return self.places, found, double

    def unclear(self) -> set[str]:
        """Cells to write in that hold no answer, though what stands elsewhere may be it."""
        ours = {"", *(_plain(cell.source) for cell in self.form)}
        loose = [j for j in self._free() if self.texts[j] not in ours]
        cells = [i for i, cell in enumerate(self.form) if _grader(cell) and writable(cell)]
        return {_grader(self.form[i])["grade_id"] for i in cells if self._lost(i, loose)}

    def _lost(self, i: int, loose: list[int]) -> bool:
        """Whether cell `i` of the form has no answer that can be graded, and one may be there."""
        if i not in self.places:
            return bool(loose)
        j, kind = self.places[i], self.form[i].cell_type
        if self._written(i, j):  # in another language, perhaps
            return kind == "code" and not without_magics(self.cells[j].source).strip()
        alike = [k for k in loose if self.cells[k].cell_type == kind]
        if names := self._wanted(i):
            return any(names & self.names(self.cells[k].source) for k in alike)
        return any(k in self._between(i) for k in alike)

    def _written(self, i: int, j: int) -> bool:
        """Whether cell `j` of the submission is more than cell `i` of the form."""
        return self.texts[j] != _plain(self.form[i].source)

    def _wanted(self, i: int) -> set[str]:
        """The names that a cell of the form asks to define."""
        return self.names(self.form[i].source) if self.form[i].cell_type == "code" else set()

    def _free(self) -> list[int]:
        taken = set(self.places.values())
        return [j for j in range(len(self.cells)) if j not in taken]

    def _same_text(self) -> None:
        """Cells that students do not write in are known by their text: landmarks."""
        for i, cell in enumerate(self.form):
            if i not in self.places and not writable(cell):
                text = _plain(cell.source)
                same = [j for j in self._free() if self.texts[j] == text]
                if same:
                    self.places[i] = same[0]

    def _between(self, i: int) -> range:
        """Where in the submission cell `i` of the form must be, going by its neighbours."""
        above = max((k for k in self.places if k < i), default=None)
        after = [self.places[k] for k in self.places if k > i]
        low = 0 if above is None else self.places[above] + 1
        return range(low, min((j for j in after if j >= low), default=len(self.cells)))

    def _by_names(self, i: int) -> int | None:
        names = self._wanted(i)
        if not names or not writable(self.form[i]):
            return None
        fits = [
            j
            for j in self._free()
            if self.cells[j].cell_type == "code" and names <= self.names(self.cells[j].source)
        ]
        near = [j for j in fits if j in self._between(i)]
        return max(near or fits, default=None)

    def _by_place(self, i: int) -> int | None:
        if not writable(self.form[i]) or self._wanted(i):
            return None
        kind, free = self.form[i].cell_type, set(self._free())
        fits = [j for j in self._between(i) if j in free and self.cells[j].cell_type == kind]
        fits = [j for j in fits if self._written(i, j)] or fits
        # Of several texts a person sees all, and the points beside the first.
        return fits[0] if len(fits) == 1 or (fits and kind == "markdown") else None


def _woven(
    form: list[Any], cells: list[Any], places: dict[int, int]
) -> tuple[list[Any], list[str]]:
    """The cells of the submission, with what the form adds to them after its neighbour above."""
    missing = []
    for i, cell in enumerate(form):
        given = _grader(cell)
        if i in places:
            mine = cells[places[i]]
            if mine.cell_type != cell.cell_type or not writable(cell):
                text = mine.source if writable(cell) else cell.source
                mine = cells[places[i]] = deepcopy(cell)
                mine.source = text
            mine.metadata, mine.id = cell.metadata, cell.id
        elif given:
            missing.append(given["grade_id"])
    after: dict[int, list[Any]] = {}
    last = -1
    for i, cell in enumerate(form):
        if i in places:
            last = places[i]
        elif _grader(cell):
            after.setdefault(last, []).append(cell)
    woven = list(after.get(-1, []))
    for j, cell in enumerate(cells):
        woven += [cell, *after.get(j, [])]
    return woven, missing

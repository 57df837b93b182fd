"""Each student's own numbers, names and planted bug, all from one source of exercises.

The source runs as plain Python, in its standard form. There a cell tagged `variant` holds
assignments that offer several values, and renames:

    # %% tags=["variant"]
    from deepdive_book.course.assignment.variants import choose, number, rename, sample

    # %% tags=["variant"] exercise="dot-size"
    WIDTHS = choose((16, 64, 256), (25, 100, 400))  # the first is the standard form's
    LENGTHS = sample(range(2, 9), 3)
    STEP = number(10, 50, 10)
    rename("split_heads", "to_heads")

A form has literals in their place, `WIDTHS = (25, 100, 400)`, and the new name everywhere in code,
and in text between backticks. Text mentions a value as `{{WIDTHS}}` or `{{WIDTHS[0]}}`; a list
reads `25, 100 and 400`.
`{{EXERCISES}}` and `{{MINUTES}}` count what the source has, with an overlay's own.

Cells tagged `bug` with the same `exercise` are alternatives, told apart by what `bug="..."` says of
them; `caught="..."` quotes the message that finds one. One stays, with those hints and wrong
answers that name it; `{{bug of shift}}` says which, where students do not see it.

A value called `BEDS` is the order of a bug clinic's patients: its exercises `Patient A: ...` change
their places and letters with it.

A student's value depends on the secret, the student, the exercise and the value's name; offering
other values for one name changes no other.
"""

import ast
import hmac
import json
import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, TypeVar

from deepdive_book.course.exercises import HIDDEN, SOLUTION, WITHHELD_TAGS, grading, parts, tags
from deepdive_book.site.pages import PageError

T = TypeVar("T")

SHORTEST_SECRET = 16
MENTION = re.compile(r"\{\{([A-Z][A-Z0-9_]*)((?:\[-?\d+\])*)\}\}")
# The import of these, a cell of its own.
IMPORT = re.compile(r"from deepdive_book\.course\.assignment\.variants import [^\n]*\Z")
BUG_OF = re.compile(r"\{\{bug of ([\w-]+)\}\}")
# Code in a text: between fences or backticks.
CODE = re.compile(r"^(```+|~~~+).*?^\1[^\n]*$|(`+)(?!`).+?(?<!`)\2(?!`)", re.MULTILINE | re.DOTALL)
# A patient's letter: in a text, as an argument, in the name of a function, in a grade id.
OF_PATIENT = re.compile(
    r"(\b[Pp]atient )([A-F])(\b)|([\"'])([A-F])(\4)|(\b(?:diagnosis|measure)_)([a-f])(\b)|"
    r"(\A)([a-f])(-(?:diagnosis|named|proved)\Z)"
)
# What may stand beside the offers: nothing that depends on the run or on the version of Python.
PLAIN = {f.__name__: f for f in (dict, len, list, max, min, range, round, sorted, sum, tuple, zip)}


class Draw:
    """What one value is drawn from; `below(n)` returns a number from 0 to n - 1."""

    def __init__(self, below: Callable[[int], int]) -> None:
        self.below = below

    def choose(self, *options: T) -> T:
        """Return one of the options; the standard form has the first."""
        return options[self.below(len(options))]

    def number(self, low: int, high: int, step: int = 1) -> int:
        """Return low, low + step, ... or high; the standard form has `low`."""
        return low + step * self.below((high - low) // step + 1)

    def permutation(self, items: Iterable[T]) -> list[T]:
        """Return the items in another order; the standard form has them as they come."""
        order = list(items)
        for i in range(len(order)):
            j = i + self.below(len(order) - i)
            order[i], order[j] = order[j], order[i]
        return order

    def sample(self, items: Iterable[T], count: int) -> list[T]:
        """Return `count` of the items, none twice; the standard form has the first ones."""
        return self.permutation(items)[:count]


Source = Callable[[str, str], Draw]  # from an exercise and the name of a value
_FIRST = Draw(lambda n: 0)
choose, number = _FIRST.choose, _FIRST.number
permutation, sample = _FIRST.permutation, _FIRST.sample


def rename(name: str, *others: str) -> None:
    """Offer other names for `name`; the standard form keeps it."""


def standard(source: Any) -> Any:
    """Return the source with the first of all offers; a notebook without offers comes back equal.

    Raises PageError as `personal` does.
    """
    return _formed(source, lambda exercise, name: _FIRST)


def personal(source: Any, secret: bytes, student: str) -> Any:
    """Return the source with this student's values, names and bugs; solutions are still in it.

    The same for ever: HMAC-SHA256 with `secret` as its key draws from student, exercise and name.

    Raises:
        ValueError: the secret is shorter than 16 bytes, or `student` is empty.
        PageError: a variant cell holds what is no offer, a value that is no literal, or a name
            twice; a mention names no value; a new name is taken, or the old one an attribute.
    """
    if len(secret) < SHORTEST_SECRET:
        raise ValueError(
            f"the secret has {len(secret)} bytes; {SHORTEST_SECRET} or more cannot be guessed: "
            "secrets.token_bytes(32)"
        )
    if not student:
        raise ValueError("student is empty: give the id that the roster has")
    return _formed(source, lambda exercise, name: Draw(stream(secret, student, exercise, name)))


def stream(secret: bytes, *path: str) -> Callable[[int], int]:
    """Return `below(n)`, whose k-th number is the HMAC of the path and k, modulo n."""
    drawn = 0

    def below(n: int) -> int:
        nonlocal drawn
        text = json.dumps([*path, drawn]).encode("ascii")
        drawn += 1
        return int.from_bytes(hmac.digest(secret, text, "sha256"), "big") % n

    return below


def _formed(source: Any, draw: Source) -> Any:
    form = deepcopy(source)
    exercises = {grading(cell).get("grade_id") for cell in form.cells}
    for cell in form.cells:
        given = cell.metadata.get("exercise", "")
        offers = "bug" in tags(cell) or ("variant" in tags(cell) and not IMPORT.match(cell.source))
        if offers and given not in exercises:
            raise PageError(f"{cell.id}: exercise={given!r} is no grade id")
    form.cells, bugs = _with_bugs(form.cells, draw)
    minutes = [part.minutes for part in parts(form)[1:]]
    values: dict[str, Any] = {"EXERCISES": len(minutes), "MINUTES": sum(minutes)}
    names: dict[str, list[str]] = {}  # the old one: the new one, then all that are offered
    for cell in form.cells:
        if "variant" in tags(cell):
            cell.source = _literal(cell, draw, values, names)
    form.cells = [cell for cell in form.cells if cell.source or "variant" not in tags(cell)]
    _check_names(form.cells, names)
    for cell in form.cells:
        for old, (new, *_) in names.items():
            _rename(cell, old, new)
        if cell.cell_type == "markdown":
            cell.source = _mentions(cell, values, bugs)
    if "BEDS" in values:
        form.cells = _in_beds(form, values["BEDS"])
    return form


# -- variant cells


def _literal(cell: Any, draw: Source, values: dict[str, Any], names: dict[str, list[str]]) -> str:
    """Return the cell with literals for offers; note its values and its names.

    Whole-line comments stay; the ones beside an offer go with it.
    """
    if IMPORT.match(cell.source):
        return ""
    exercise = cell.metadata["exercise"]
    lines: list[str | None] = list(cell.source.split("\n"))
    for statement in ast.parse(cell.source).body:
        first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
        lines[first:last] = [None] * (last - first)
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Name(id="rename"), args=args)):
                old, *others = (ast.literal_eval(each) for each in args)
                names[old] = [draw(exercise, old).choose(old, *others), *others]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name in values or not name.isupper():
                    raise PageError(f"{cell.id}: {name} must be in capitals, and assigned once")
                values[name] = _value(cell, name, value, draw(exercise, name), values)
                lines[first] = f"{name} = {values[name]!r}"
            case _:
                raise PageError(
                    f"{cell.id}: a variant cell assigns to names and renames; this is "
                    f"{ast.unparse(statement)!r}"
                )
    return "\n".join(line for line in lines if line is not None).strip("\n")


def _value(cell: Any, name: str, given: ast.expr, draw: Draw, values: dict[str, Any]) -> Any:
    """Return what the right side of an assignment is for this draw."""
    offers = {
        "choose": draw.choose,
        "number": draw.number,
        "permutation": draw.permutation,
        "sample": draw.sample,
    }
    code = compile(ast.Expression(given), f"{cell.id}, {name}", "eval")
    try:
        value = eval(code, {"__builtins__": PLAIN, **values, **offers})
    except Exception as error:
        raise PageError(f"{cell.id}: {name}: {error}") from error
    try:
        same = not isinstance(value, set) and ast.literal_eval(repr(value)) == value
    except (SyntaxError, ValueError):
        same = False
    if not same:
        raise PageError(f"{cell.id}: {name} is {value!r}, which cannot be written as a literal")
    return value


# -- names, bugs and mentions


def _rename(cell: Any, old: str, new: str) -> None:
    """Put the new name in the place of the old one: in code, not in sentences and headings."""
    pattern = re.compile(rf"\b{old}\b")
    if cell.cell_type == "code":
        cell.source = pattern.sub(new, cell.source)
    else:
        cell.source = CODE.sub(lambda span: pattern.sub(new, span[0]), cell.source)


def _in_beds(form: Any, order: Sequence[str]) -> list[Any]:
    """Return the cells with the patients of a clinic in this order of their standard letters."""
    letters = dict(zip(order, sorted(order), strict=True))
    wards = [part for part in parts(form) if part.title[:7] == "Patient"]
    others = [part for part in parts(form) if part.title[:7] != "Patient"]
    if [part.title[8] for part in wards] != sorted(order):
        raise PageError(f"BEDS is {order!r}: there is a patient for each letter, A first")

    def moved(text: str) -> str:
        def letter(found: re.Match[str]) -> str:
            before, old, after = (group for group in found.groups() if group is not None)
            new = letters[old.upper()]
            return before + (new if old.isupper() else new.lower()) + after

        return OF_PATIENT.sub(letter, text)

    for number, part in enumerate(sorted(wards, key=lambda part: letters[part.title[8]]), start=1):
        others.insert(number, part)
        for cell in part.cells:
            cell.source = re.sub(r"\A## \d+\.", f"## {number}.", moved(cell.source))
            cell.id = moved(cell.id)
            if "exercise" in cell.metadata:
                cell.metadata["exercise"] = moved(cell.metadata["exercise"])
            if "nbgrader" in cell.metadata:
                cell.metadata["nbgrader"]["grade_id"] = moved(grading(cell)["grade_id"])
    return [cell for part in others for cell in part.cells]


def _check_names(cells: Sequence[Any], names: dict[str, list[str]]) -> None:
    """Raise PageError for a new name that is taken or none, and an old one that is not alone."""
    text = "\n".join(cell.source for cell in cells)
    for old, (_, *others) in names.items():
        if re.search(rf"\.{old}\b", text) or not re.search(rf"\b{old}\b", text):
            raise PageError(f"rename({old!r}): no name of its own, or an attribute too")
        for new in others:
            if not new.isidentifier() or keyword.iskeyword(new) or re.search(rf"\b{new}\b", text):
                raise PageError(f"rename({old!r}): {new!r} is taken, or cannot be a name")


def _with_bugs(cells: Sequence[Any], draw: Source) -> tuple[list[Any], dict[str, str]]:
    """Return the cells with one bug an exercise, and which it is by exercise.

    The cells that stay get the ids of those of the first bug: an id must not tell which it is.
    """
    offered: dict[str, dict[str, list[str]]] = {}  # exercise: bug: ids of its cells
    for cell in cells:
        if "bug" in tags(cell) and "bug" in cell.metadata:
            ids = offered.setdefault(cell.metadata["exercise"], {})
            ids.setdefault(cell.metadata["bug"], []).append(cell.id)
    bugs = {name: draw(name, "bug").choose(*ids) for name, ids in offered.items()}
    return list(_keep(cells, bugs, offered)), bugs


def _keep(
    cells: Sequence[Any], bugs: dict[str, str], offered: dict[str, dict[str, list[str]]]
) -> Iterator[Any]:
    ids = {name: iter(next(iter(each.values()))) for name, each in offered.items()}
    for cell in cells:
        exercise, bug = cell.metadata.get("exercise", ""), cell.metadata.pop("bug", None)
        cell.metadata.pop("caught", None)
        if bug is not None and bug not in offered.get(exercise, {}):
            raise PageError(f"{cell.id}: {exercise!r} has no bug {bug!r}")
        if bug is not None and "bug" in tags(cell) and bug == bugs[exercise]:
            cell.id = next(ids[exercise])
        if bug is None or bug == bugs[exercise]:
            yield cell


def _mentions(cell: Any, values: dict[str, Any], bugs: dict[str, str]) -> str:
    """Return the text with values in place of their mentions."""

    def value(found: re.Match[str]) -> str:
        name, indices = found.groups()
        if name not in values:
            raise PageError(f"{cell.id}: {found[0]} is no value; there are {sorted(values)}")
        value = values[name]
        for index in re.findall(r"-?\d+", indices):
            value = value[int(index)]
        return _words(value)

    def bug(found: re.Match[str]) -> str:
        if found[1] not in bugs:
            raise PageError(f"{cell.id}: {found[0]}: there is a bug of {sorted(bugs)}")
        return bugs[found[1]]

    shown = HIDDEN.sub("", SOLUTION.sub("", cell.source))
    if BUG_OF.search(shown) and not tags(cell) & WITHHELD_TAGS:
        raise PageError(f"{cell.id}: names the bug where students read it")
    return BUG_OF.sub(bug, MENTION.sub(value, cell.source))


def _words(value: Any) -> str:
    """`16, 64 and 256` for a list of values, and any other as it is written."""
    if not isinstance(value, list):
        return str(value)
    *first, last = map(_words, value)
    return f"{', '.join(first)} and {last}" if first else last

"""Tables of results: real HTML in a notebook and in the book, aligned text in a terminal.

>>> from deepdive_book.kit.tables import table
>>> table([{"model": "rnn", "error": 0.31}, {"model": "lstm", "error": 0.12}], best={"error": min})
model      error
-------  -------
rnn         0.31
lstm       *0.12
* best of its column
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepdive.evaluate import Interval
from deepdive_book.kit.markup import Html, marked_formulas, unmarked
from deepdive_book.kit.profile import checkout

Cell = str | bool | int | float | Interval | None
Format = str | Callable[[Any], str]
Best = Callable[[list[float]], float]

NOT_HERE = (
    "No table here: its rows were measured earlier and are saved in the project's repository, next "
    "to this page."
)
LARGEST, SMALLEST = 3, 2  # significant digits of a column's largest and smallest numbers, at least
MOST = 7  # digits that the largest may take for the sake of the smallest
LONG = 8  # rows from which readers of the book can sort
# Jupyter would align every cell to the right. How a table looks in the book is said in book.css.
_STYLE = (
    "<style>.dd-table :is(th, td) { text-align: left; vertical-align: baseline; }"
    ".dd-table .number { text-align: right; font-variant-numeric: tabular-nums; }"
    ".dd-table td.number { white-space: nowrap; } .dd-table thead th { vertical-align: bottom; }"
    ".dd-table caption { caption-side: top; text-align: left; }</style>"
)


@dataclass(frozen=True)
class _Column:
    """One column: its head, what each cell shows, the number that it stands for, if any."""

    head: str
    shown: list[str]
    numbers: list[float | None]
    right: bool
    best: list[bool]


def table(
    rows: Sequence[Mapping[str, Any]] | Sequence[Sequence[Any]],
    head: Sequence[str] | None = None,
    *,
    formats: Mapping[str, Format] | None = None,
    units: Mapping[str, str] | None = None,
    best: Mapping[str, Best] | None = None,
    caption: str = "",
) -> Html:
    """A table that a notebook and the book show as HTML, and a terminal as aligned text.

    A row is a mapping from a column's name to its cell (what it lacks is an empty cell), or a
    sequence of cells, whose names are in `head`; with mappings `head` chooses and orders the
    columns. The first column names the rows. A cell is a text, a number (one element of a tensor
    or an array too), a truth value, an `Interval` ("0.81 [0.79, 0.83]") or None (empty). In texts
    and names `$...$` is a formula and backticks hold code; nothing else is markup.

    formats  name -> a format such as ".2f" or ".1%", or a function of the number; without one,
             integers are grouped by thousands, and other numbers get as many decimals as show
             three digits of the column's largest and two of its smallest
    units    name -> its unit, shown in the head: "time (s)"
    best     name -> the function that picks the best of its numbers: `min`, `max`; it is bold, in
             text it has a star, and so has each that looks the same
    caption  what the table shows, in a line above it

    Outside a checkout (a notebook alone, as on Colab), a table without rows says where they are
    saved.

    Raises:
        ValueError: there are no rows in a checkout, a row does not fit the head, a cell is of
            another kind, or `formats`, `units` or `best` name a column that is not there or cannot
            do its work.
    """
    every = list(rows)  # a generator too
    if not every and checkout() is None:
        return Html(f"<p>{NOT_HERE}</p>", NOT_HERE)
    names, lines = _lines(every, head)
    formats, units, best = formats or {}, units or {}, best or {}
    for argument, given in (("formats", formats), ("units", units), ("best", best)):
        _known(argument, given, names)
    made = [
        _column(name, list(column), formats.get(name), units.get(name), best.get(name))
        for name, column in zip(names, zip(*lines, strict=True), strict=True)
    ]
    return Html(_html(made, caption), _text(made, caption))


def _known(argument: str, columns: Mapping[str, Any], names: list[str]) -> None:
    for name in columns:
        if name not in names:
            raise ValueError(
                f"{argument}: got {name!r}, expected names of columns, which are {names}: "
                "name one of them"
            )


# --- rows ----------------------------------------------------------------------------------------


def _lines(rows: Sequence[Any], head: Sequence[str] | None) -> tuple[list[str], list[list[Cell]]]:
    """The names of the columns, and the cells of each row in their order."""
    rows = list(rows)
    if not rows:
        raise ValueError("rows: got none, expected at least one row: a table shows something")
    mappings = [isinstance(row, Mapping) for row in rows]
    if any(mappings) != all(mappings):
        raise ValueError("rows: got mappings and sequences, expected one kind: choose one")
    if mappings[0]:
        names, lines = _of_mappings(rows, head)
    else:
        names, lines = _of_sequences(rows, head)
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise ValueError(f"head: got {names}, expected different texts: name each column")
    return names, [[_cell(cell, name) for cell, name in zip(r, names, strict=True)] for r in lines]


def _of_mappings(rows: list[Any], head: Sequence[str] | None) -> tuple[list[str], list[list[Any]]]:
    every = list(dict.fromkeys(name for row in rows for name in row))
    names = every if head is None else list(head)
    for name in names:
        if name not in every:
            raise ValueError(f"head: got {name!r}, which no row has; the rows have {every}")
    return names, [[row.get(name) for name in names] for row in rows]


def _of_sequences(rows: list[Any], head: Sequence[str] | None) -> tuple[list[str], list[list[Any]]]:
    if head is None:
        raise ValueError("head: got None, expected a name for each column of the rows")
    for place, row in enumerate(rows):
        if isinstance(row, str) or len(row) != len(head):
            raise ValueError(
                f"rows: row {place}: got {row!r}, expected {len(head)} cells, one for each "
                f"name of {list(head)}: use None for an empty cell"
            )
    return list(head), rows


def _cell(value: Any, name: str) -> Cell:
    """A cell as Python's own value."""
    if not isinstance(value, Interval) and math.prod(getattr(value, "shape", (0,))) == 1:
        value = value.item()  # of a tensor, an array or a number of numpy
    if value is None or isinstance(value, str | bool | int | float | Interval):
        return value
    raise ValueError(
        f"rows: column {name!r} has {value!r}, expected a text, a number, an Interval or None: "
        "make it one of them"
    )


def _number(cell: Cell) -> float | None:
    """The number that a cell stands for; a truth value is none, and neither is a NaN."""
    value = cell.value if isinstance(cell, Interval) else cell
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return value


# --- columns -------------------------------------------------------------------------------------


def _column(
    name: str, cells: list[Cell], form: Format | None, unit: str | None, best: Best | None
) -> _Column:
    show = _by_format(name, form) if form is not None else _by_digits(cells)
    numbers = [_number(cell) for cell in cells]
    kinds = [isinstance(c, int | float | Interval) and not isinstance(c, bool) for c in cells]
    return _Column(
        head=f"{name} ({unit})" if unit else name,
        shown=[_shown(cell, show) for cell in cells],
        numbers=numbers,
        right=any(kinds) and all(kind or c is None for kind, c in zip(kinds, cells, strict=True)),
        best=_best(name, numbers, best, show) if best else [False] * len(cells),
    )


def _by_format(name: str, form: Format) -> Callable[[float], str]:
    def show(value: float) -> str:
        try:
            return form(value) if callable(form) else format(value, form)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"formats: {name!r} got {form!r}, which cannot show {value!r} ({error}); "
                'expected a format such as ".2f" or a function of the number'
            ) from error

    return show


def _by_digits(cells: list[Cell]) -> Callable[[float], str]:
    """Numbers of one column with the same decimals, where that does not take too many."""
    values = [part for cell in cells for part in _parts(cell) if math.isfinite(part)]
    if all(isinstance(value, int) for value in values):
        return lambda value: f"{value:,}"
    places = [math.floor(math.log10(abs(value))) for value in values if value] or [0]
    decimals = max(0, LARGEST - 1 - max(places), SMALLEST - 1 - min(places))
    if decimals + max(0, *places) >= MOST:  # tiny numbers, or large and tiny ones together
        return lambda value: f"{value:.{LARGEST}g}"
    while decimals and all(f"{value:.{decimals}f}".endswith("0") for value in values):
        decimals -= 1
    return lambda value: f"{value:,.{decimals}f}"


def _parts(cell: Cell) -> tuple[float, ...]:
    if isinstance(cell, Interval):
        return tuple(cell)
    number = _number(cell)
    return () if number is None else (number,)


def _shown(cell: Cell, show: Callable[[float], str]) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return " ".join(cell.split())
    if isinstance(cell, Interval):
        return f"{show(cell.value)} [{show(cell.low)}, {show(cell.high)}]"
    return show(cell)


def _best(
    name: str, numbers: list[float | None], pick: Best, show: Callable[[float], str]
) -> list[bool]:
    """Which cells look as the best one does: a difference that is not shown decides nothing."""
    known = [number for number in numbers if number is not None]
    found = pick(known) if known else None
    if found not in known:
        raise ValueError(
            f"best: {name!r} gave {found!r}, expected one of the column's numbers, {known}: "
            "use min or max, on a column of numbers"
        )
    assert found is not None
    return [number is not None and show(number) == show(found) for number in numbers]


# --- what is shown -------------------------------------------------------------------------------


def _text(columns: list[_Column], caption: str) -> str:
    """Aligned columns; the star of the best stands on the left, so that digits stay in line."""
    from tabulate import tabulate  # a quarter of a second, for those who show a table

    shown = [
        ["*" * star + unmarked(cell) for cell, star in zip(c.shown, c.best, strict=True)]
        for c in columns
    ]
    body = tabulate(
        list(zip(*shown, strict=True)),
        headers=[unmarked(column.head) for column in columns],
        tablefmt="simple",
        disable_numparse=True,
        colalign=["right" if column.right else "left" for column in columns],
    )
    lines = [*([unmarked(caption)] if caption else []), *(x.rstrip() for x in body.splitlines())]
    if any(any(column.best) for column in columns):
        lines.append("* best of its column")
    return "\n".join(lines)


def _html(columns: list[_Column], caption: str) -> str:
    rows = range(len(columns[0].shown))
    sortable = len(rows) >= LONG
    head = "".join(
        f'<th scope="col"{_class(column.right)}>{marked_formulas(column.head)}</th>'
        for column in columns
    )
    body = "".join(
        f"<tr>{''.join(_td(c, row, not at, sortable) for at, c in enumerate(columns))}</tr>"
        for row in rows
    )
    sentences = [marked_formulas(caption)] if caption else []
    if any(any(column.best) for column in columns):
        sentences.append("Bold: the best of its column.")
    above = f"<caption>{' '.join(sentences)}</caption>" if sentences else ""
    kind = "dd-table sortable" if sortable else "dd-table"
    return (
        f'{_STYLE}<table class="{kind}">{above}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _td(column: _Column, row: int, first: bool, sortable: bool) -> str:
    shown, number = marked_formulas(column.shown[row]), column.numbers[row]
    if column.best[row]:
        shown = f"<strong>{shown}</strong>"
    value = ""
    if sortable and number is not None:  # as a script reads it
        value = f' data-value="{str(number).replace("inf", "Infinity")}"'
    tag, scope = ("th", ' scope="row"') if first else ("td", "")
    return f"<{tag}{scope}{_class(column.right)}{value}>{shown}</{tag}>"


def _class(right: bool) -> str:
    return ' class="number"' if right else ""

"""What a pencil sheet is made of: numbers in grids, grids in steps, steps on a sheet.

Everything is plain Python, so that each number is one that a reader can follow with a pencil.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Value = float | str


@dataclass(frozen=True)
class Grid:
    """A named table of numbers or words.

    `role` is the colour of `deepdive_book.kit.diagrams`. `work` says of each cell how it is found;
    a grid without it is given on the sheet, one with it is left blank for the pencil.
    """

    name: str
    role: str
    values: Sequence[Sequence[Value]]
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    work: Sequence[Sequence[str]] = ()
    digits: int = 2

    @property
    def asked(self) -> bool:
        """Whether the reader fills it in."""
        return bool(self.work)

    def shown(self) -> list[list[str]]:
        """The cells as they are printed."""
        return [[number(value, self.digits) for value in row] for row in self.values]


@dataclass(frozen=True)
class Step:
    """One thing to do: `say` in words, `rule` as an equation, the grids that belong to it, and what
    helps (`aid`: powers of e, logarithms).
    """

    say: str
    rule: str
    grids: Sequence[Grid]
    aid: str = ""


@dataclass(frozen=True)
class Sheet:
    """One A4 page of pencil work on one mechanism, drawn from a seed."""

    name: str
    title: str
    question: str
    section: str
    minutes: int
    seed: int
    steps: Sequence[Step]
    answer: str

    def numbers(self, name: str) -> list[list[float]]:
        """The exact numbers of a grid, not rounded. Raises KeyError for a name it does not have."""
        for step in self.steps:
            for grid in step.grids:
                if grid.name == name:
                    return [[float(value) for value in row] for row in grid.values]
        raise KeyError(f"sheet {self.name} has no grid {name!r}")


# What a mechanism's function returns: the question, the steps and the answer.
Work = tuple[str, Sequence[Step], str]


def number(value: Value, digits: int = 2) -> str:
    """A number as a pencil writes it: whole numbers without a point, a true minus sign."""
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    whole = abs(value - round(value)) < 1e-9
    return (f"{round(value)}" if whole else f"{value:.{digits}f}").replace("-", "−")


def bracketed(value: float) -> str:
    """A factor in a product or a power; one below zero stands in brackets."""
    return f"({number(value)})" if value < 0 else number(value)


def dot(a: Sequence[float], b: Sequence[float]) -> tuple[float, str]:
    """The dot product of two vectors, and how it is found."""
    total = sum(x * y for x, y in zip(a, b, strict=True))
    parts = [f"{bracketed(x)}·{bracketed(y)}" for x, y in zip(a, b, strict=True)]
    return total, f"{' + '.join(parts)} = {number(total)}"


def row_grid(
    name: str,
    role: str,
    rows: Sequence[str],
    values: Sequence[Value],
    work: Sequence[str],
    columns: Sequence[str] = (),
    digits: int = 2,
) -> Grid:
    """A grid of one row, with how each of its cells is found; `rows` has its name, or none."""
    return Grid(name, role, [values], rows, columns, [work], digits)


def softmax_grids(
    scores: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    label: str = "",
) -> tuple[Grid, Grid]:
    """The two grids of a softmax along the rows: powers with their sums, and weights.

    A score of minus infinity has the power 0. `label` stands before both names.
    """
    powers = [[math.exp(score) for score in row] for row in scores]
    sums = [sum(row) for row in powers]
    power_work = [
        [
            *(f"e^{bracketed(s)} = {number(p)}" for s, p in zip(line, row, strict=True)),
            f"{' + '.join(number(p) for p in row)} = {number(total)}",
        ]
        for line, row, total in zip(scores, powers, sums, strict=True)
    ]
    weights = [[p / total for p in row] for row, total in zip(powers, sums, strict=True)]
    weight_work = [
        [f"{number(p)} / {number(total)} = {number(w)}" for p, w in zip(row, line, strict=True)]
        for row, line, total in zip(powers, weights, sums, strict=True)
    ]
    filled = [[*row, total] for row, total in zip(powers, sums, strict=True)]
    return (
        Grid(f"{label}powers", "score", filled, rows, [*columns, "sum"], power_work),
        Grid(f"{label}weights", "weight", weights, rows, columns, weight_work),
    )


def mix_grid(
    weights: Sequence[Sequence[float]],
    values: Sequence[Sequence[float]],
    rows: Sequence[str],
    name: str = "output",
) -> Grid:
    """The grid of weights @ values."""
    columns = list(zip(*values, strict=True))
    found = [[dot(row, column) for column in columns] for row in weights]
    numbers = [[value for value, _ in row] for row in found]
    return Grid(name, "output", numbers, rows, (), [[work for _, work in row] for row in found])


def exponentials(scores: Sequence[float]) -> str:
    """A line of the powers of e that these scores need."""
    wanted = sorted({round(score, 3) for score in scores})
    return ", ".join(f"e^{bracketed(x)} = {number(math.exp(x))}" for x in wanted)

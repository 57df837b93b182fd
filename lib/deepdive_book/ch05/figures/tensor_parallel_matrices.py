"""Two matrices with a rounding between them, cut in two: what each half knows, and what they say.

    tensor_parallel_matrices(ORDER, PORTIONS, GRAMS)

An order (cakes, pies) times a matrix of portions is rounded up to whole bowls, and times a matrix
of ingredients it is the shopping list. The reader chooses how each matrix is cut between two
kitchens, and whether they add up where they must.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.panels import panels

CUTS = ("columns", "rows")
BOWL = 4  # portions
INTO, BETWEEN, OUT = ("cake", "pie"), ("dough", "cream", "fruit", "glaze"), ("flour", "sugar")
COLOR = ("query", "key")  # of each kitchen
WIDE, CELL, HIGH = 400.0, 47.0, 26.0


def round_up(portions: Tensor) -> Tensor:
    """Portions rounded up to whole bowls: they are mixed four at a time."""
    return (portions / BOWL).ceil() * BOWL


def shares(order: Tensor, A: Tensor, B: Tensor, cut_A: str, cut_B: str, add: bool) -> list[Tensor]:
    """Return portions (2 kitchens, 4) as each knows them, bowls (2, 4), and lists (2, 2), both with
    what another kitchen has as 0; with `add`, what must be added up between the two matrices is.
    """
    half = torch.arange(4) // 2 == torch.arange(2)[:, None]  # (2, 4): whose components
    if cut_A == "columns":
        portions = (order @ A) * half
        known = round_up(portions)
        if cut_B == "columns" and add:
            known = known.sum(0).expand(2, 4)
    else:
        portions = order[:, None] * A  # a kitchen knows one of the two: cakes, or pies
        known = round_up(portions.sum(0)).expand(2, 4) if add else round_up(portions)
    if cut_B == "rows":
        known = known * half
        return [portions, known, known @ B]
    return [portions, known, (known @ B) * torch.eye(2)]


def alt_text(order: Tensor, A: Tensor, B: Tensor, cut_A: str, cut_B: str, add: bool) -> str:
    """What is said, and what comes out, in words."""
    *_, lists = shares(order, A, B, cut_A, cut_B, add)
    right, got = (round_up(order @ A) @ B).int().tolist(), lists.sum(0).int().tolist()
    between = {
        ("columns", "rows"): "",
        ("columns", "columns"): "each tells the other its 2 components",
        ("rows", "rows"): "they add up 4 components",
        ("rows", "columns"): "they add up 4 components",
    }[cut_A, cut_B]
    middle = f"Between the two matrices {between}." if between else (
        "Between the two matrices they say nothing."
    )  # fmt: skip
    if between and not add:
        middle = "Between the two matrices they should speak, and do not."
    end = (
        "Behind the second they add up 2 numbers."
        if cut_B == "rows"
        else "Behind the second each tells the other 1 number."
    )
    verdict = f"The list: {got[0]} flour, {got[1]} sugar"
    wrong = "" if got == right else f"; one kitchen alone would say {right[0]} and {right[1]}"
    return f"{middle} {end} {verdict}{wrong}."


def tensor_parallel_matrices(
    order: Sequence[int], A: Sequence[Sequence[int]], B: Sequence[Sequence[int]]
) -> Html:
    """Return the picture for an order of 2, A (2, 4) and B (4, 2). Raises ValueError for other
    sizes.
    """
    x, first, second = (torch.tensor(each).float() for each in (order, A, B))
    sizes = [tuple(each.shape) for each in (x, first, second)]
    if sizes != [(2,), (2, 4), (4, 2)]:
        raise ValueError(
            "order, A and B must be (2,), (2, 4) and (4, 2); got " + ", ".join(map(str, sizes))
        )

    def draw(cut_A: str, cut_B: str, add: str) -> tuple[str, str]:
        state = x, first, second, cut_A, cut_B, add == "yes"
        return _drawing(*state), alt_text(*state)

    choices = {
        "first matrix cut by": CUTS, "second matrix cut by": ("rows", "columns"),
        "they speak between": ("yes", "no"),
    }  # fmt: skip
    return panels("Two matrices cut between two kitchens", choices, draw)


def _drawing(order: Tensor, A: Tensor, B: Tensor, cut_A: str, cut_B: str, add: bool) -> str:
    portions, known, lists = shares(order, A, B, cut_A, cut_B, add)
    body = [
        text(200, 14, f"order: {_many(order[0], 'cake')}, {_many(order[1], 'pie')}", 16, bold=True)
    ]
    speaks = (cut_A, cut_B) != ("columns", "rows")
    for i, role in enumerate(COLOR):
        x = 4.0 + i * 204
        columns = range(2 * i, 2 * i + 2) if cut_A == "columns" else range(4)
        rows = range(2) if cut_A == "columns" else (i,)
        body += _grid(x, 46, A, rows, columns, INTO, BETWEEN, role)
        body += _line(x, 158, "portions", portions[i], BETWEEN, columns, role)
        mine = [c for c in range(4) if cut_B == "columns" or c // 2 == i]
        if cut_A == "columns" and not add and cut_B == "columns":
            mine = list(columns)
        body += _line(x, 246, "in bowls", known[i], BETWEEN, mine, role)
        outs = range(2) if cut_B == "rows" else (i,)
        ins = range(2 * i, 2 * i + 2) if cut_B == "rows" else range(4)
        body += _grid(x, 324, B, ins, outs, BETWEEN, OUT, role)
        body += _line(x, 478, "list", lists[i], OUT, outs, role)
    if speaks:
        body += _band(208, "they speak" if add else "they keep silent", add)
    body += _band(528, "they add up" if cut_B == "rows" else "each tells its own", True)
    got = lists.sum(0)
    body.append(text(200, 568, f"shopping list: {got[0]:g} flour, {got[1]:g} sugar", 16, bold=True))
    return svg(WIDE, 584, body)


def _grid(
    x: float, y: float, matrix: Tensor, rows: Sequence[int], columns: Sequence[int],
    of_rows: Sequence[str], of_columns: Sequence[str], role: str,
) -> list[str]:  # fmt: skip
    """A piece of a matrix under the names of its columns, beside those of its rows."""
    wide = len(columns) * CELL
    left = x + (192 - wide) / 2 + (24 if wide < 180 else 0)
    body = [
        text(left + (j + 0.5) * CELL, y, of_columns[c], 14, role) for j, c in enumerate(columns)
    ]
    for i, r in enumerate(rows):
        at = y + 12 + i * HIGH
        if wide < 180:
            body.append(text(left - 24, at + HIGH / 2, of_rows[r], 14))
        else:
            body.append(text(x + 96, at + HIGH + 14, f"for one {of_rows[r]}", 14))
        for j, c in enumerate(columns):
            body.append(_cell(left + j * CELL, at, matrix[r, c], role, 0.28))
    return body


def _line(
    x: float, y: float, name: str, values: Tensor, names: Sequence[str], shown: Sequence[int],
    role: str,
) -> list[str]:  # fmt: skip
    """What a kitchen knows, a cell each, under a name."""
    left = x + (192 - len(shown) * CELL) / 2
    body = [text(x + 96, y - 12, name, 14)]
    for j, c in enumerate(shown):
        body.append(_cell(left + j * CELL, y, values[c], role, 0.0))
        body.append(text(left + (j + 0.5) * CELL, y + HIGH + 10, names[c], 14, role))
    return body


def _cell(x: float, y: float, value: Tensor, role: str, full: float) -> str:
    box = (
        f'<rect x="{x:g}" y="{y:g}" width="{CELL - 3:g}" height="{HIGH - 3:g}" rx="3" '
        f'fill="{ROLES[role]}" fill-opacity="{full:g}" stroke="{ROLES[role]}"/>'
    )
    return box + text(x + CELL / 2 - 1.5, y + HIGH / 2 - 0.5, f"{float(value):g}", 15)


def _band(y: float, words: str, spoken: bool) -> list[str]:
    """What passes between the kitchens, between two arrows."""
    if not spoken:
        return [text(200, y + 6, words, 15, bold=True)]
    return [
        text(200, y + 6, words, 15, bold=True), arrow(112, y + 6, 60, y + 6),
        arrow(288, y + 6, 340, y + 6),
    ]  # fmt: skip


def _many(count: Tensor, name: str) -> str:
    return f"{count:g} {name}{'' if count == 1 else 's'}"

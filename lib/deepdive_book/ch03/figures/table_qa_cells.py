"""Questions to tables, and the cells that a model takes for the answer: each as full as likely.

    table_qa_cells([Asked("who won in Rome ?", ["city", "winner"], [["Rome", "Ann"], ["Oslo",
    "Eve"]],
                      shares=[[0.1, 0.7], [0.1, 0.1]], right=(0, 1))])

The reader chooses a question. The right cell has a frame, the one that the model picked a dot; rows
that it did not read are pale. Without scripts, and on paper, the first question stands there.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Asked:
    """A question, its table, and the probability of each cell; None for a row that was not read.

    `right` is the row and the column of the cell that answers.
    """

    question: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    shares: Sequence[Sequence[float] | None]
    right: tuple[int, int]


def table_qa_cells(asked: Sequence[Asked]) -> Html:
    """Return the picture, with the first question.

    Raises:
        ValueError: there is no question, a row has not a cell for each column, the shares do not
            fit the rows or no row was read, or `right` is no cell.
    """
    if not asked:
        raise ValueError("asked is empty; give one question at least")
    for one in asked:
        _check(one)
    body = "".join(
        f'<div class="cp-one"{" hidden" * (i > 0)}>'
        f'<p class="cp-question">{escape(one.question)}</p>'
        f"{_table(one)}<p>{escape(alt_text(one))}</p></div>"
        for i, one in enumerate(asked)
    )
    choices = "".join(
        f'<option value="{i}">{i + 1}: {escape(one.question)}</option>'
        for i, one in enumerate(asked)
    )
    name = f"cp{hashlib.sha256(body.encode()).hexdigest()[:10]}"
    html = _PAGE.format(
        id=name, body=body, choices=choices, full=ROLES["weight"], right=ROLES["output"],
        script=script(_SCRIPT, id=name),
    )  # fmt: skip
    return Html(html, "\n".join(f"[{one.question} {alt_text(one)}]" for one in asked))


def picked(one: Asked) -> tuple[int, int]:
    """The row and the column of the cell with the largest share, the first of equals."""
    cells = [
        (-share, r, c)
        for r, row in enumerate(one.shares)
        if row is not None
        for c, share in enumerate(row)
    ]
    return min(cells)[1:]


def alt_text(one: Asked) -> str:
    """What was picked, and whether it is right, in words."""
    r, c = picked(one)
    (right_row, right_column), shares = one.right, one.shares[one.right[0]]
    chosen = f"It picks {one.rows[r][c] or 'an empty cell'} ({_of(one, r, c):.0%})"
    if (r, c) == one.right:
        return f"{chosen}, which is right."
    answer = one.rows[right_row][right_column]
    if shares is None:
        return f"{chosen}. Right is {answer}, in a row that it has not read."
    return f"{chosen}. Right is {answer} ({shares[right_column]:.0%})."


def _of(one: Asked, r: int, c: int) -> float:
    row = one.shares[r]
    return 0.0 if row is None else row[c]


def _check(one: Asked) -> None:
    wide = len(one.columns)
    if any(len(row) != wide for row in one.rows):
        raise ValueError(f"{one.question!r}: expected rows of {wide} cells, one a column")
    read = [row for row in one.shares if row is not None]
    if len(one.shares) != len(one.rows) or not read or any(len(row) != wide for row in read):
        raise ValueError(
            f"{one.question!r}: expected shares for {len(one.rows)} rows of {wide} cells, None for "
            "a row that was not read, and one row read at least"
        )
    r, c = one.right
    if not (0 <= r < len(one.rows) and 0 <= c < wide):
        raise ValueError(f"{one.question!r}: right is {one.right}, which is no cell of the table")


def _table(one: Asked) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in one.columns)
    lines = []
    for r, row in enumerate(one.rows):
        cells = "".join(_cell(one, r, c, cell) for c, cell in enumerate(row))
        pale = ' class="cp-unread"' * (one.shares[r] is None)
        lines.append(f"<tr{pale}>{cells}</tr>")
    return (
        f'<div class="cp-scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(one: Asked, r: int, c: int, cell: str) -> str:
    kinds = ["cp-right"] * ((r, c) == one.right) + ["cp-picked"] * ((r, c) == picked(one))
    said = f"{_of(one, r, c):.0%}" if one.shares[r] is not None else "not read"
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return f'<td{kind} style="--share:{_of(one, r, c):.3f}" title="{said}">{escape(cell)}</td>'


_PAGE = """\
<style>
.cp :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.cp label {{ padding-block: .25rem; }}
.cp {{ max-width: 44rem; font: 1rem/1.35 system-ui, sans-serif; margin: .4em 0; }}
.cp p {{ margin: .35em 0; }}
.cp-choose[hidden], .cp-one[hidden] {{ display: none; }}
.cp-choose select {{ max-width: 100%; font: inherit; }}
.cp-question {{ font-weight: 600; }}
.cp-scroll {{ overflow-x: auto; }}
.cp table {{ border-collapse: separate; border-spacing: 2px; font-size: .88rem; margin: 0; }}
.cp :is(th, td) {{ text-align: left; padding: .15em .4em; overflow-wrap: break-word; }}
.cp th {{ vertical-align: bottom; }}
.cp td {{ border: 2px solid transparent; position: relative; background:
  color-mix(in srgb, {full} calc(38% * var(--share)), transparent); }}
.cp .cp-unread td {{ opacity: .8; font-style: italic; }}
.cp td.cp-right {{ border-color: {right}; opacity: 1; }}
.cp td.cp-picked {{ font-weight: 700; }}
.cp td.cp-picked::before {{ content: "● "; }}
@media print {{ .cp-choose {{ display: none; }} }}
</style>
<div class="cp" id="{id}" role="group" aria-label="Questions, and the cells of their tables">
<p class="cp-choose" hidden><label>question <select>{choices}</select></label></p>
<div role="status" aria-live="polite">{body}</div>
</div>
{script}"""

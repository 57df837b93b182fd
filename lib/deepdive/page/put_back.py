"""Two runs of a model, and parts of one to be put into the other: which bring the answer along?

    put_back([Exchange("the drinks", clean, other, ("tea", "milk"), (10, -10), heads, rows)],
             ("layer 1: previous", "layer 2: finder"), ("words", "after layer 1"))

The reader chooses the second text and the direction, then heads, any of them together, or one row
of the stream. Without scripts every part's share stands in its cell, for the first text, clean
into corrupted.
"""

import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from deepdive.page.markup import Html, script
from deepdive.page.palette import ROLES

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Exchange(NamedTuple):
    """A clean text and another of as many words (T), and what is read off when parts change.

    said      what each of the two runs answers
    numbers   what is read off each: `clean`, `other`
    heads     (2, 2^H): [0] with clean heads in the other run, [1] the other's in the clean one; at
              index k the heads whose bit of k is set, the first head the lowest bit
    rows      (2, R, T), one row of the stream at a time
    """

    called: str
    clean: Sequence[str]
    other: Sequence[str]
    said: tuple[str, str]
    numbers: tuple[float, float]
    heads: Tensor
    rows: Tensor


def put_back(exchanges: Sequence[Exchange], heads: Sequence[str], rows: Sequence[str]) -> Html:
    """Return the picture.

    heads    what each head is called, the order of the bits;  rows    each row of the grid

    Raises:
        ValueError: there is no exchange, or one has not a number for every set of heads and every
            place, or its two runs say the same number.
    """
    if not exchanges:
        raise ValueError("exchanges is empty; give one at least")
    for one in exchanges:
        _check(one, len(heads), len(rows))
    first = exchanges[0]
    given = json.dumps({"cases": [_plain(one) for one in exchanges]}, separators=(",", ":"))
    name = f"pb{hashlib.sha256((given + str(heads) + str(rows)).encode()).hexdigest()[:10]}"
    single = [share(first, 0, float(first.heads[0, 1 << h])) for h in range(len(heads))]
    buttons = "".join(
        f'<button type="button" class="pb-cell" aria-pressed="false" disabled{_fill(part)}>'
        f'<span class="pb-name">{escape(called)}</span><span class="pb-share">{part} %</span>'
        "</button>"
        for called, part in zip(heads, single, strict=True)
    )
    words = "".join(f'<th scope="col">{escape(word)}</th>' for word in first.other)
    lines = "".join(
        f'<tr><th scope="row">{escape(called)}</th>'
        + "".join(_place(called, word, share(first, 0, float(value)))
                  for word, value in zip(first.other, line, strict=True))
        + "</tr>"
        for called, line in zip(rows, first.rows[0], strict=True)
    )  # fmt: skip
    options = "".join(
        f'<option value="{i}">{escape(one.called)}</option>' for i, one in enumerate(exchanges)
    )
    html = _PAGE.format(
        id=name, buttons=buttons, words=words, lines=lines, options=options,
        runs=_runs(first), focus=ROLES["weight"], full=ROLES["key"],
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, "\n".join(f"[{one.called}: {' '.join(one.other)}]" for one in exchanges))


def share(one: Exchange, way: int, value: float) -> int:
    """How much of the way from the run's own answer to the other's, in percent."""
    clean, other = one.numbers
    start, end = (other, clean) if way == 0 else (clean, other)
    return round(100 * (value - start) / (end - start))


def _check(one: Exchange, heads: int, rows: int) -> None:
    words, sets = len(one.clean), 1 << heads
    if len(one.other) != words or tuple(one.rows.shape) != (2, rows, words):
        raise ValueError(
            f"{one.called}: rows came {tuple(one.rows.shape)}, expected (2, {rows}, {words}) and "
            f"two texts of {words} words"
        )
    if tuple(one.heads.shape) != (2, sets):
        raise ValueError(f"{one.called}: heads came {tuple(one.heads.shape)}, expected (2, {sets})")
    if one.numbers[0] == one.numbers[1]:
        raise ValueError(f"{one.called}: both runs say the same; choose texts that differ")


def _plain(one: Exchange) -> dict[str, object]:
    def rounded(values: Tensor) -> list[list[float]]:
        return [[round(v, 2) + 0.0 for v in row] for row in values.tolist()]

    return {
        "clean": list(one.clean), "other": list(one.other), "said": list(one.said),
        "numbers": [round(v, 2) for v in one.numbers],
        "heads": rounded(one.heads), "rows": rounded(one.rows.flatten(1)),
    }  # fmt: skip


def _runs(one: Exchange) -> str:
    return "".join(
        f'<p class="pb-run"><b>{role}</b> <span>{_marked(text, beside)}</span> '
        f"<span>answer: {escape(said)} ({number:.0f})</span></p>"
        for role, text, beside, said, number in (
            ("Runs:", one.other, one.clean, one.said[1], one.numbers[1]),
            ("Gives parts:", one.clean, one.other, one.said[0], one.numbers[0]),
        )
    )


def _marked(text: Sequence[str], beside: Sequence[str]) -> str:
    return " ".join(
        escape(a) if a == b else f"<mark>{escape(a)}</mark>"
        for a, b in zip(text, beside, strict=True)
    )


def _fill(part: int) -> str:
    return f' style="--share:{max(0, min(100, part))}"'


def _place(row: str, word: str, part: int) -> str:
    return (
        f'<td><button type="button" class="pb-cell" aria-pressed="false" disabled{_fill(part)} '
        f'aria-label="{part} {escape(row)} {escape(word)}">{part}</button></td>'
    )


_PAGE = """\
<style>
.pb {{ max-width: 44rem; font: 1rem/1.35 system-ui, sans-serif; margin: .4em 0; }}
.pb p {{ margin: .3em 0; }}
.pb-choose {{ display: flex; flex-wrap: wrap; gap: .4em 1em; align-items: center; }}
.pb-choose[hidden] {{ display: none; }}
.pb-choose label {{ display: inline-flex; flex-wrap: wrap; gap: 0 .4em; align-items: center; }}
.pb :is(select, .pb-choose button) {{ font: inherit; min-height: 2.4rem; max-width: 100%; }}
.pb-runs {{ margin: .6em 0; }}
.pb-run {{ display: flex; flex-wrap: wrap; gap: 0 .8em; }}
.pb-run b {{ min-width: 7rem; }}
.pb mark {{ background: none; color: inherit; font-weight: 700; text-decoration: underline;
  text-underline-offset: .2em; }}
.pb-heads {{ display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .3em;
  margin: .3em 0 .8em; }}
.pb .pb-cell {{ font: inherit; color: inherit; min-height: 2.5rem; border-radius: 4px;
  border: 2px solid transparent; cursor: pointer; font-variant-numeric: tabular-nums;
  background: color-mix(in srgb, {full} calc(8% + .34% * var(--share, 0)), transparent); }}
.pb .pb-cell:disabled {{ cursor: default; }}
.pb .pb-cell[aria-pressed=true] {{ border-color: currentColor; font-weight: 700; }}
.pb-name, .pb-share {{ display: block; font-size: .88rem; }}
.pb-share {{ min-height: 1.2em; }}
.pb.pb .pb-rows {{ display: table; border-collapse: separate; border-spacing: 1px 2px;
  table-layout: fixed; width: 100%; margin: 0; font-size: .84rem; }}
.pb.pb .pb-rows :is(th, td) {{ font-weight: 400; padding: 0 1px; text-align: center; border: 0; }}
.pb.pb .pb-rows tr > th:first-child {{ width: 4.3rem; text-align: left; }}
.pb td .pb-cell {{ width: 100%; padding: 0; }}
.pb-scale {{ position: relative; height: 1.1rem; margin: .8em .6rem .2em; }}
.pb-scale[hidden] {{ display: none; }}
.pb-scale::before {{ content: ""; position: absolute; inset: .45rem 0 auto; height: .2rem;
  background: currentColor; opacity: .3; }}
.pb-dot {{ position: absolute; width: 1.1rem; height: 1.1rem; margin-left: -.55rem;
  border-radius: 50%; background: {full}; transition: left .25s; }}
.pb-ends {{ display: flex; justify-content: space-between; font-size: .9rem; }}
.pb-ends[hidden] {{ display: none; }}
.pb-told {{ min-height: 4.1em; }}
.pb :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
@media (prefers-reduced-motion: reduce) {{ .pb-dot {{ transition: none; }} }}
@media print {{ .pb-choose {{ display: none; }} .pb-told {{ min-height: 0; }} }}
</style>
<div class="pb" id="{id}" role="group" aria-label="Two runs, and parts to exchange">
<div class="pb-choose" hidden><label>The other text: <select>{options}</select></label>
<label>Put <select><option value="0">clean parts into the other run</option>
<option value="1">the other's parts into the clean run</option></select></label></div>
<div class="pb-runs">{runs}</div>
<p><b>Heads</b>, layer 1 above layer 2; several may be put in together</p>
<div class="pb-heads">{buttons}</div>
<p><b>Rows of the stream</b>, one at a time</p>
<table class="pb-rows"><thead><tr><th></th>{words}</tr></thead><tbody>{lines}</tbody></table>
<div class="pb-scale" hidden><span class="pb-dot"></span></div>
<div class="pb-ends" hidden><span></span><span></span></div>
<p class="pb-told" role="status" aria-live="polite">Each cell: how much of the answer comes along,
in percent.</p>
<div class="pb-choose" hidden><button type="button">take all out</button>
<button type="button">fill in every cell</button></div>
</div>
{script}"""

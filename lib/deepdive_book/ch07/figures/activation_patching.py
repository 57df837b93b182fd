"""Two runs of a model, and parts of one to be put into the other: which bring the answer along?

    patch_demo([Exchange("the drinks", clean, other, ("tea", "milk"), (10, -10), heads, rows)],
             ("layer 1: previous", "layer 2: finder"), ("words", "after layer 1"))

The reader chooses the second text and the direction, then heads, any of them together, or one row
of the stream. Without scripts every part's share stands in its cell, for the first text, clean
into corrupted.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from deepdive_book.kit.living import Button, Choice, Switch, living
from deepdive_book.kit.markup import Html

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


def patch_demo(exchanges: Sequence[Exchange], heads: Sequence[str], rows: Sequence[str]) -> Html:
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
    single = [share(first, 0, float(first.heads[0, 1 << h])) for h in range(len(heads))]
    buttons = "".join(
        f'<button type="button" aria-pressed="false" disabled{_fill(part)}>'
        f'<span class="patch-name">{escape(name)}</span>'
        f'<span class="patch-share">{part} %</span></button>'
        for name, part in zip(heads, single, strict=True)
    )
    words = "".join(f'<th scope="col">{escape(word)}</th>' for word in first.other)
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(_place(name, word, share(first, 0, float(value)))
                  for word, value in zip(first.other, line, strict=True))
        + "</tr>"
        for name, line in zip(rows, first.rows[0], strict=True)
    )  # fmt: skip
    low, high = sorted(range(2), key=lambda i: first.numbers[i])
    return living(
        "patch", "Two runs, and parts to exchange", code=_SCRIPT, style=_STYLE, wide=44, lines=2,
        drawing=_DRAWING.format(
            runs=_runs(first), buttons=buttons, words=words, lines=lines, low=_end(first, low),
            high=_end(first, high), left=100 * (low == 0),
        ),
        status="Nothing is put in. Choose a head, or a row of the stream.",
        spec={"cases": [_plain(one) for one in exchanges]},
        state={"chosen": [], "row": -1, "seen": []},
        controls=[Choice("text", "The other text:", [one.called for one in exchanges]),
                  Choice("way", "Put", ["clean parts into the other run",
                                        "the other's parts into the clean run"]),
                  Button("clear", "take all out"), Switch("hidden", "hide the shares")],
        try_this="hide the shares, guess which head brings most of the answer along, and press it; "
                 "then put two in together.",
    )  # fmt: skip


def _end(one: Exchange, i: int) -> str:
    return escape(f"{one.numbers[i]:.0f} ({one.said[i]})")


def share(one: Exchange, way: int, value: float) -> int:
    """How much of the way from the run's own answer to the other's, in percent."""
    clean, other = one.numbers
    start, end = (other, clean) if way == 0 else (clean, other)
    return round(100 * (value - start) / (end - start))


def _check(one: Exchange, heads: int, rows: int) -> None:
    words, sets = len(one.clean), 1 << heads
    if len(one.other) != words or tuple(one.rows.shape) != (2, rows, words):
        raise ValueError(
            f"{one.called}: rows got {tuple(one.rows.shape)}, expected (2, {rows}, {words}) and "
            f"two texts of {words} words"
        )
    if tuple(one.heads.shape) != (2, sets):
        raise ValueError(f"{one.called}: heads got {tuple(one.heads.shape)}, expected (2, {sets})")
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
        f'<p class="patch-run"><b>{role}</b> <span>{_marked(text, beside)}</span> '
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
        f'<td><button type="button" aria-pressed="false" disabled{_fill(part)} '
        f'aria-label="{part} {escape(row)} {escape(word)}">{part}</button></td>'
    )


_STYLE = """
.patch-run { display: flex; flex-wrap: wrap; gap: 0 .8em; }
.patch-run b { min-width: 7rem; }
.patch-run mark { background: none; color: inherit; font-weight: 700; text-decoration: underline;
  text-underline-offset: .2em; }
.patch-heads { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .3em;
  margin: .3em 0 .8em; }
.living :is(.patch-heads, .patch-rows) button { min-height: 2.5rem; border-radius: 4px;
  border: 2px solid transparent; font-variant-numeric: tabular-nums; padding: 0 1px;
  background: color-mix(in srgb, @key calc(8% + .34% * var(--share, 0)), transparent); }
.living :is(.patch-heads, .patch-rows) button[aria-pressed=true] { border-color: currentColor;
  font-weight: 700; box-shadow: none; }
.patch-name, .patch-share { display: block; font-size: .88rem; }
.living .patch-rows { display: table; border-collapse: separate; border-spacing: 1px 2px;
  table-layout: fixed; width: 100%; margin: 0; font-size: .84rem; }
.living .patch-rows :is(th, td) { font-weight: 400; padding: 0 1px; text-align: center;
  border: 0; }
.living .patch-rows tr > th:first-child { width: 4.3rem; text-align: left; }
.living .patch-rows button { width: 100%; }
.patch-scale { position: relative; height: 1.1rem; margin: .8em .6rem .2em; }
.patch-scale::before { content: ""; position: absolute; inset: .45rem 0 auto; height: .2rem;
  background: currentColor; opacity: .3; }
.patch-dot { position: absolute; width: 1.1rem; height: 1.1rem; margin-left: -.55rem;
  border-radius: 50%; background: @key; transition: left .25s; }
.patch-ends { display: flex; justify-content: space-between; font-size: .9rem; }
"""
_DRAWING = """{runs}
<p><b>Heads</b>, layer 1 above layer 2; several may be put in together</p>
<div class="patch-heads">{buttons}</div>
<p><b>Rows of the stream</b>, one at a time</p>
<table class="patch-rows"><thead><tr><th></th>{words}</tr></thead><tbody>{lines}</tbody></table>
<p>Each cell: how much of the answer comes along, in percent.</p>
<div class="patch-scale"><span class="patch-dot" style="left:{left}%"></span></div>
<div class="patch-ends"><span>{low}</span><span>{high}</span></div>"""

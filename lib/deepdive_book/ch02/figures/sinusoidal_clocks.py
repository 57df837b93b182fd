"""Clocks: a place as a row of hands, which the reader turns by a slider.

    sinusoidal_clocks(SinusoidalPosition(8).table(torch.arange(64)))

Column 2i of the table is how far right the tip of hand i points, column 2i + 1 how far up. With
`words`, the reader chooses a word of a sentence, and sees its row, the row of its place, and their
sum. With `second`, another place stands beside the first, and their dot product is worked out.
All numbers are the table's own. Without scripts, and on paper, one place stands there, drawn.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from math import cos, pi, sin
from pathlib import Path
from typing import Any

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

LARGEST = 100_000  # bytes of HTML
_JS = Path(__file__).with_suffix(".js")


def sinusoidal_clocks(
    table: Any,
    *,
    place: int = 1,
    second: int | None = None,
    sentences: Sequence[str] = (),
    words: Mapping[str, Sequence[float]] | None = None,
) -> Html:
    """Return the clocks of a table of encodings (T, d), d even, at a place that the reader moves.

    Args:
        table: tensor or nested lists; row t is the encoding of place t.
        place, second: where the sliders stand at first; no `second`, no second slider.
        sentences: each word is a button that leads to its place.
        words: the row of each word of the sentences, d numbers.

    Raises:
        ValueError: d is odd, a place is outside the table, or a word has no row of d numbers.
    """
    rows = [[round(float(x), 9) for x in row] for row in table]
    d = len(rows[0]) if rows else 0
    if d == 0 or d % 2 or any(len(row) != d for row in rows):
        raise ValueError(f"table: expected rows of one even length; got {len(rows)} of {d}")
    for name, at in (("place", place), ("second", second)):
        if at is not None and not 0 <= at < len(rows):
            raise ValueError(f"{name} is {at}; the table has the places 0 to {len(rows) - 1}")
    own = {word: [float(x) for x in row] for word, row in (words or {}).items()}
    for word in " ".join(sentences).split():
        if len(own.get(word, ())) != d:
            raise ValueError(f"words: {word!r} needs a row of {d} numbers, as the table has")
    given = {"table": rows, "words": own, "sentences": [s.split() for s in sentences],
             "place": place, "second": second}  # fmt: skip
    body = json.dumps(given)
    name = f"c{hashlib.sha256(body.encode()).hexdigest()[:10]}"
    other = rows[second] if second is not None else None
    still = "".join(
        f'<figure class="ck-hand">{_face(rows[place], other, i)}'
        f"<figcaption>hand {i}</figcaption></figure>"
        for i in range(d // 2)
    )
    said = f"Place {place}: " + ", ".join(f"{x:.2f}" for x in rows[place])
    html = _PAGE.format(id=name, still=still, said=escape(said), **ROLES) + script(
        _JS.read_text("utf-8"), id=name, values=body
    )
    if len(html.encode()) > LARGEST:
        raise ValueError(f"the clocks have {len(html.encode())} bytes, at most {LARGEST}")
    return Html(html, f"[clocks: {said}]")


def _face(row: Sequence[float], other: Sequence[float] | None, i: int) -> str:
    """One clock: a dial with a mark at twelve, and a hand, or two."""
    marks = "".join(
        f'<circle class="ck-mark" cx="{50 + 45 * sin(a):.1f}" cy="{50 - 45 * cos(a):.1f}" r="1.5"/>'
        for a in (k * pi / 6 for k in range(12))
    )
    hands = ""
    for hand, values in (("ck-b", other), ("ck-a", row)):
        x, y = (values[2 * i], values[2 * i + 1]) if values is not None else (0.0, 1.0)
        hide = "" if values is not None else ' style="display:none"'
        hands += (
            f'<g class="{hand}"{hide}><line x1="50" y1="50" x2="{50 + 38 * x:.2f}" '
            f'y2="{50 - 38 * y:.2f}"/>'
            f'<circle cx="{50 + 38 * x:.2f}" cy="{50 - 38 * y:.2f}" r="4.5"/></g>'
        )
    return (
        f'<svg viewBox="0 0 100 100" role="img" aria-label="hand {i}">'
        f'<circle class="ck-dial" cx="50" cy="50" r="48"/>{marks}{hands}</svg>'
    )


_PAGE = """\
<style>
.ck :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.ck label {{ padding-block: .25rem; }}
@media print {{ .ck :is(input, select, button) {{ display: none; }} }}
.ck {{ max-width: 46rem; line-height: 1.4; }}
.ck p {{ margin: .4em 0; }}
.ck-faces {{ display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .6em; }}
.ck-hand {{ margin: 0; text-align: center; }}
.ck-hand svg {{ width: 100%; max-width: 8.5rem; }}
.ck-hand figcaption {{ font-size: .85em; font-variant-numeric: tabular-nums; }}
.ck-dial {{ fill: none; stroke: {score}; stroke-width: 1.5; }}
.ck-mark {{ fill: {score}; }}
.ck-a line {{ stroke: {query}; stroke-width: 3.5; }} .ck-a circle {{ fill: {query}; }}
.ck-b line {{ stroke: {key}; stroke-width: 3.5; stroke-dasharray: 5 3; }}
.ck-b circle {{ fill: none; stroke: {key}; stroke-width: 2.5; }}
.ck-slide {{ display: flex; gap: .7em; align-items: center; margin: .4em 0; }}
.ck-slide input {{ flex: 1; min-width: 5em; max-width: 30em; }}
.ck-slide span {{ min-width: 8.6em; }}
.ck-row {{ display: flex; margin: .1em 0 .4em; max-width: 30rem; }}
.ck-row span {{ flex: 1; text-align: center; font-size: 12px; padding: .25em 0; min-width: 0;
  border: 1px solid {score}; font-variant-numeric: tabular-nums; }}
.ck-row.ck-place span {{ border-color: {query}; background: {query}22; }}
.ck-row.ck-second span {{ border-color: {key}; background: {key}22; border-style: dashed; }}
.ck-row.ck-sum span {{ border-color: {output}; background: {output}22; }}
.ck-name {{ font-size: .85em; }}
.ck-words button {{ font: inherit; margin: 0 .2em .2em 0; padding: .1em .5em; }}
.ck-words button[aria-pressed=true] {{ font-weight: bold; text-decoration: underline;
  outline: 2px solid {query}; }}
@media (max-width: 500px) {{
  .ck-faces {{ gap: .2em; }} .ck-hand figcaption {{ font-size: 12px; }}
}}
</style>
<div class="ck" id="{id}" role="group" aria-label="A row of clocks">
<div class="ck-words"></div><div class="ck-slides"></div>
<div class="ck-faces">{still}</div>
<div class="ck-rows"></div><p class="ck-said" role="status" aria-live="polite">{said}</p>
</div>
"""

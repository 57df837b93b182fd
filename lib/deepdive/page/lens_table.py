"""What a model would say after each layer, at each word: a table in which the reader chooses.

    lens_table([Reading("the plain machine", words, layers, said, truth)])

`said[layer][word]` are the likeliest answers there, each with its probability, the likeliest first;
`truth[layer][word]` is what the state does hold, where that is known. Python draws the first table,
which stays where nothing moves: on paper, without scripts.
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
Answers = Sequence[tuple[str, float]]


class Reading(NamedTuple):
    """A table of (layers, words); `truth` is None where nobody knows. `chosen`: a cell (layer,
    word).
    """

    name: str
    words: Sequence[str]
    layers: Sequence[str]
    said: Sequence[Sequence[Answers]]
    truth: Sequence[Sequence[str]] | None = None
    chosen: tuple[int, int] = (0, 0)


def likeliest(logits: Tensor, answers: Sequence[str], most: int = 3) -> list[list[Answers]]:
    """Return the `most` likeliest answers at each layer and word, for logits (L, T, V)."""
    found = logits.detach().softmax(-1).topk(most)
    return [
        [
            [(answers[i], float(p)) for p, i in zip(*cell, strict=True)]
            for cell in zip(*row, strict=True)
        ]
        for row in zip(found.values.tolist(), found.indices.tolist(), strict=True)
    ]


def lens_table(readings: Sequence[Reading]) -> Html:
    """Return the picture of the first reading.

    Raises:
        ValueError: there is no reading, a table has not one cell for each layer and word, or the
            chosen cell is not in the table.
    """
    if not readings:
        raise ValueError("came no reading, expected one at least")
    for r in readings:
        for table in (r.said, r.truth):
            if table is None:
                continue
            if len(table) != len(r.layers) or any(len(row) != len(r.words) for row in table):
                raise ValueError(
                    f"{r.name}: expected {len(r.layers)} layers of {len(r.words)} words each"
                )
        if not (r.chosen[0] < len(r.layers) and r.chosen[1] < len(r.words)):
            raise ValueError(f"{r.name}: there is no cell {r.chosen}")
    spec = {
        "readings": [
            {
                "chosen": r.chosen, "words": list(r.words), "layers": list(r.layers),
                "said": [[[[w, percent(p)] for w, p in cell] for cell in row] for row in r.said],
                "truth": r.truth and [list(row) for row in r.truth],
            }
            for r in readings
        ],
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"))
    name = f"lt{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    first = readings[0]
    (layer, word), told = first.chosen, told_of(first, *first.chosen)
    options = "".join(f'<option value="{i}">{escape(r.name)}' for i, r in enumerate(readings))
    html = _PAGE.format(
        id=name, options=options, table=_table(first), told=escape(told),
        bars=_bars(first.said[layer][word]), full=ROLES["key"], wrong=ROLES["query"],
        grey=ROLES["score"], focus=ROLES["weight"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[the lens: {told}]")


def percent(probability: float) -> int:
    """Of a hundred, rounded."""
    return round(100 * probability)


def told_of(reading: Reading, layer: int, word: int) -> str:
    """One cell in words."""
    best, sure = reading.said[layer][word][0]
    said = (
        f"{reading.layers[layer]}, at “{reading.words[word]}”: the lens reads “{best}”, "
        f"sure to {percent(sure)} %."
    )
    if reading.truth is None:
        return said
    held = reading.truth[layer][word]
    return f"{said} The state holds “{held}”: the lens is {'right' if best == held else 'wrong'}."


def _mark(reading: Reading, layer: int, word: int) -> str:
    if reading.truth is None:
        return ""
    return " ✓" if reading.said[layer][word][0][0] == reading.truth[layer][word] else " ✗"


def _table(reading: Reading) -> str:
    head = "".join(f'<th scope="col">{escape(layer)}</th>' for layer in reading.layers)
    rows = []
    for t, word in enumerate(reading.words):
        cells = "".join(_cell(reading, k, t) for k in range(len(reading.layers)))
        rows.append(f'<tr><th scope="row">{escape(word)}</th>{cells}</tr>')
    return f"<thead><tr><th>word</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"


def _cell(reading: Reading, layer: int, word: int) -> str:
    pressed = (layer, word) == reading.chosen
    best, sure = reading.said[layer][word][0]
    text = best + _mark(reading, layer, word)
    label = f"{text}, {reading.layers[layer]}, at {reading.words[word]}"
    return (
        f'<td><button type="button" aria-pressed="{str(pressed).lower()}" '
        f'aria-label="{escape(label)}" style="--sure:{percent(sure)}%">{escape(text)}</button></td>'
    )


def _bars(answers: Answers) -> str:
    return "".join(
        f'<div class="lt-row"><span>{escape(word)}</span><span class="lt-line"><i '
        f'style="width:{percent(p)}%"></i></span><b>{percent(p)} %</b></div>'
        for word, p in answers
    )


_PAGE = """\
<style>
.lt {{ max-width: 40rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.lt-choose[hidden] {{ display: none; }}
.lt-choose label {{ display: flex; flex-wrap: wrap; gap: .3em .5em; align-items: center; }}
.lt-choose select {{ font: inherit; min-height: 2.4rem; max-width: 100%; }}
.lt :focus-visible {{ outline: 3px solid {focus}; outline-offset: 1px; }}
.lt-wide {{ overflow-x: auto; }}
.lt table {{ border-collapse: collapse; margin: .6em 0; width: 100%; }}
.lt th {{ font-weight: 600; font-size: .875rem; padding: .2em .25em; text-align: left;
  white-space: nowrap; }}
.lt td {{ padding: 2px; }}
.lt button {{ font: inherit; font-size: .95rem; color: inherit; width: 100%; min-height: 2.4rem;
  min-width: 2.9rem; padding: .1em .2em; border: 1px solid {grey}88; border-radius: 4px;
  cursor: pointer; white-space: nowrap;
  background: linear-gradient({full}, {full}) left bottom / var(--sure) 4px no-repeat
  transparent; }}
.lt button[aria-pressed=true] {{ border: 3px solid {focus}; font-weight: 700; }}
.lt p {{ margin: .35em 0; min-height: 2.8em; }}
.lt-row {{ display: grid; grid-template-columns: minmax(5rem, 9rem) 1fr 3.6rem; gap: .6em;
  align-items: center; padding: .1em 0; }}
.lt-line {{ display: block; height: .8em; border: 1px solid {grey}88; border-radius: 2px; }}
.lt-line i {{ display: block; height: 100%; background: {full}; }}
.lt-row b {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }}
@media print {{ .lt-choose {{ display: none; }} .lt p {{ min-height: 0; }} }}
</style>
<div class="lt" id="{id}" role="group" aria-label="What the lens reads at each word and layer">
<div class="lt-choose" hidden><label>what is read <select>{options}</select></label></div>
<div class="lt-wide"><table>{table}</table></div>
<p role="status" aria-live="polite">{told}</p>
<div class="lt-bars">{bars}</div>
</div>
{script}"""

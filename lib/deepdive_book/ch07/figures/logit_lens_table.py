"""What a model would say after each layer, at each word: a table in which the reader chooses.

    logit_lens_table([Reading("the plain machine", words, layers, said, truth)])

`said[layer][word]` are the likeliest answers there, each with its probability, the likeliest first;
`truth[layer][word]` is what the state does hold, where that is known. Python draws the first table,
which stays where nothing moves: on paper, without scripts.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from deepdive_book.kit.living import Choice, living
from deepdive_book.kit.markup import Html

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


def top_predictions(logits: Tensor, answers: Sequence[str], most: int = 3) -> list[list[Answers]]:
    """Return the `most` likeliest answers at each layer and word, for logits (L, T, V)."""
    top = logits.detach().softmax(-1).topk(most)
    return [
        [
            [(answers[i], float(p)) for p, i in zip(*cell, strict=True)]
            for cell in zip(*row, strict=True)
        ]
        for row in zip(top.values.tolist(), top.indices.tolist(), strict=True)
    ]


def logit_lens_table(readings: Sequence[Reading]) -> Html:
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
    first = readings[0]
    layer, word = first.chosen
    return living(
        "lens", "What the lens reads at each word and layer", code=_SCRIPT, style=_STYLE, wide=40,
        drawing=f'<div class="lens-wide"><table>{_table(first)}</table></div>',
        status=alt_text(first, layer, word),
        below=f'<div class="lens-bars">{_bars(first.said[layer][word])}</div>',
        spec={"readings": [
            {"chosen": r.chosen, "words": list(r.words), "layers": list(r.layers),
             "said": [[[[w, percent(p)] for w, p in cell] for cell in row] for row in r.said],
             "truth": r.truth and [list(row) for row in r.truth]}
            for r in readings]},
        state={"cell": first.chosen},
        controls=[Choice("reading", "what is read", [r.name for r in readings])],
        try_this="press the cells of one row from left to right, or use the arrow keys, and see "
                 "at which layer the lens begins to read the answer.",
    )  # fmt: skip


def percent(probability: float) -> int:
    """Of a hundred, rounded."""
    return round(100 * probability)


def alt_text(reading: Reading, layer: int, word: int) -> str:
    """One cell in words."""
    best, sure = reading.said[layer][word][0]
    text = (
        f"{reading.layers[layer]}, at “{reading.words[word]}”: the lens reads “{best}”, "
        f"sure to {percent(sure)} %."
    )
    if reading.truth is None:
        return text
    truth = reading.truth[layer][word]
    return f"{text} The state holds “{truth}”: the lens is {'right' if best == truth else 'wrong'}."


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
        f'<div class="lens-row"><span>{escape(word)}</span><span class="lens-line"><i '
        f'style="width:{percent(p)}%"></i></span><b>{percent(p)} %</b></div>'
        for word, p in answers
    )


_STYLE = """
.lens-wide { overflow-x: auto; padding: 3px; }
.lens-wide table { border-collapse: collapse; margin: .6em 0; width: 100%; }
.lens-wide th { font-weight: 600; font-size: .875rem; padding: .2em .25em; text-align: left;
  white-space: nowrap; }
.lens-wide td { padding: 2px; }
.living .lens-wide button { font-size: .95rem; width: 100%; min-width: 2.9rem; padding: .1em .2em;
  white-space: nowrap;
  background: linear-gradient(@key, @key) left bottom / var(--sure) 4px no-repeat; }
.living .lens-wide button[aria-pressed=true] { font-weight: 700; }
.lens-row { display: grid; grid-template-columns: minmax(5rem, 9rem) 1fr 3.6rem; gap: .6em;
  align-items: center; padding: .1em 0; }
.lens-line { display: block; height: .8em; border: 1px solid @score; border-radius: 2px; }
.lens-line i { display: block; height: 100%; background: @key; }
.lens-row b { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
"""

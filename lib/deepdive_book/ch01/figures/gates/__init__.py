"""The LSTM in the reader's hands: a belt with gates to set, and a trained reader, gate by gate.

`lstm_belt` is a puzzle with one number on a belt. `live_lstm` runs a page's own small LSTM in the
browser: one gate after the other, a map of words by cells, words to change and gates to hold open
or shut.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

import matplotlib as mpl
import torch
from matplotlib.figure import Figure
from torch import Tensor

from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import STEPS, Html, script
from deepdive_book.kit.palette import painted
from deepdive_book.kit.plotting import DIVERGING, png, style

SIGNS = {-1: "−1", 0: "0", 1: "+1"}
GATES = (("keep", "Keep"), ("write", "Write"), ("show", "Show"))
LARGEST = 300_000  # bytes of HTML


def lstm_belt(
    words: Sequence[str], says: Sequence[int], start: int, names: tuple[str, str]
) -> Html:
    """Return a belt that carries one number past the words; the reader sets three gates a word.

    Args:
        words: what is read; the last one asks for the number.
        says: for each word the number that it would write: -1, 0 or +1.
        start: the number on the belt before the first word.
        names: what +1 and what -1 stand for.

    Raises:
        ValueError: words and numbers differ in count, or a number is not -1, 0 or +1.
    """
    if len(words) != len(says):
        raise ValueError(f"says has {len(says)} numbers for {len(words)} words: one a word")
    if not {start, *says} <= set(SIGNS):
        raise ValueError(f"says and start are -1, 0 or +1; got {start} and {list(says)}")
    c, held = start, []
    for said in says:  # all gates open, as it stands without a script
        c += said
        held.append(c)
    rows = [("", [f"<b>{escape(word)}</b>" for word in words], "word", "")]
    rows.append(("says", [SIGNS[said] for said in says], "says", ""))
    for name, title in (("write", "Write"), ("keep", "Keep")):
        rows.append((title, [_valve(title, word) for word in words], name, ""))
    values = [f"<b>{value:+d}</b>".replace("-", "−").replace("+0", "0") for value in held]
    rows.append(("belt", values, "carried", f"<b>{SIGNS[start]}</b>"))
    rows.append(("Show", [_valve("Show", word) for word in words], "show", ""))
    rows.append(("heard", ["" for _ in words], "heard", ""))
    body = "".join(
        f'<tr class="dd-belt-{kind or "row"}"><th scope="row">{title}</th><td>{before}</td>'
        + "".join(f"<td>{value}</td>" for value in row)
        + "</tr>"
        for title, row, kind, before in rows
    )
    given = json.dumps({"says": list(says), "start": start, "names": names, "words": list(words)})
    name = f"belt{_digest(given)}"
    html = (
        f"<style>{painted(_asset('gates.css'))}</style>"
        f'<div class="dd-belt" id="{name}"><table aria-label="A belt with gates at each word">'
        f'{body}</table><p class="dd-belt-said" role="status">All gates open.</p>'
        '<p class="dd-belt-buttons" hidden><button type="button">All open</button>'
        '<button type="button">Write nothing, keep half</button>'
        '<button type="button">Show me a way</button></p></div>'
        + script(_asset("belt.js"), id=name, spec=given)
    )
    plain = f"[belt with gates: {' '.join(words)}; all open, it carries {held[-1]:+d} at the end]"
    return Html(html, plain)


def _valve(gate: str, word: str) -> str:
    name = f"{gate} at {escape(word)}: 1, open"
    return f'<button type="button" disabled aria-label="{name}">1</button>'


def live_lstm(
    W: Tensor,
    U: Tensor,
    b: Tensor,
    out: Tensor,
    tokens: Sequence[int],
    vocab: Sequence[str],
    answers: Sequence[str],
) -> Html:
    """Return a page's trained LSTM, alive: read word by word, gate by gate.

    Args:
        W, U, b: (V, 4d), (d, 4d) and (4d,), blocks in the order i, f, g, o; W has a row a word.
        out: (d, A), which turns the last state into a score for each answer.
        tokens: what it reads first, words by their places in `vocab`.
        vocab: V words; the reader can put each of them in each place.
        answers: A names.

    Raises:
        ValueError: the sizes do not fit, or the whole is larger than 300 kB.
    """
    d = len(U)
    sizes = [tuple(each.shape) for each in (W, U, b, out)]
    wanted = [(len(vocab), 4 * d), (d, 4 * d), (4 * d,), (d, len(answers))]
    if sizes != wanted:
        raise ValueError(f"W, U, b, out have shapes {sizes}; vocab and answers ask for {wanted}")
    spec = {
        "vocab": list(vocab),
        "answers": list(answers),
        "tokens": list(tokens),
        "W": _numbers(W),
        "U": _numbers(U.T),  # (4d, d): a row for each number of a gate
        "b": _numbers(b),
        "out": _numbers(out.T),
    }
    body = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    name = f"cells{_digest(body)}"
    picture, still = _still(W, U, b, tokens, vocab)
    gates = "".join(
        f'<button type="button" data-gate="{key}">{title}: as learned</button>'
        for key, title in GATES
    )
    swaps = "".join(f'<button type="button">{escape(word)}</button>' for word in vocab)
    shows = "".join(
        f'<button type="button" data-show="{key}">{title}</button>'
        for key, title in (("cell", "cells"), *((k, f"{k} gates") for k, _ in GATES))
    )
    html = _READER.format(
        style=painted(_asset("gates.css")),
        id=name,
        still=still,
        gates=gates,
        swaps=swaps,
        shows=shows,
        script=script(_asset("lstm.js") + STEPS + _asset("reader.js"), id=name, spec=body),
    )
    if len(html.encode()) > LARGEST:
        raise ValueError(f"the reader has {len(html.encode()) / 1000:.0f} kB, at most 300")
    message = " ".join(vocab[token] for token in tokens)
    return Html(html, f"[an LSTM, gate by gate, reads: {message}]", [picture])


@torch.no_grad()
def _still(
    W: Tensor, U: Tensor, b: Tensor, tokens: Sequence[int], vocab: Sequence[str]
) -> tuple[Picture, str]:
    """Return the map of words by cells as a picture, and that as HTML."""
    h = c = torch.zeros(len(U))
    cells = []
    for token in tokens:
        i, f, g, o = (W[token] + h @ U + b).chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        cells.append(c)
    held = torch.stack(cells, 1)  # (d, T)
    with mpl.rc_context():
        style()  # the same image whatever the page has set
        figure = Figure(figsize=(5.4, 3.8))
        axes = figure.add_subplot()
        image = axes.imshow(held.numpy(), cmap=DIVERGING, vmin=-2, vmax=2, aspect="auto")
        axes.set_xticks(range(len(tokens)), [vocab[token] for token in tokens], rotation=60)
        axes.set(ylabel="cell")
        figure.colorbar(image, label="holds")
        source = base64.b64encode(png(figure)).decode()
    place = int(held[:, -1].abs().argmax())
    alt = (
        f"What {len(held)} cells hold after each of {len(tokens)} words. After the last word cell "
        f"{place} holds most, {float(held[place, -1]):.2f}."
    )
    html = f'<img alt="{escape(alt)}" src="data:image/png;base64,{source}">'
    return Picture([figure], alt), html


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _numbers(values: Tensor) -> Any:
    """As nested lists of numbers with five digits."""
    return [
        [float(f"{x:.5g}") for x in row] if isinstance(row, list) else float(f"{row:.5g}")
        for row in torch.as_tensor(values).detach().cpu().tolist()
    ]


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


_READER = """\
<style>{style}</style>
<div class="dd-cells" id="{id}" role="group" aria-label="A trained LSTM, gate by gate">
<div class="dd-still">{still}</div>
<div class="controls" hidden>
<p class="dd-line"><button type="button">Back</button><button type="button">Next</button>
<input type="range" min="0" value="0" aria-label="Word">
<label>cell <input type="number" min="0" value="0"></label></p>
<div class="dd-words"></div>
<p class="dd-line dd-shows">The map shows: {shows}</p>
<svg class="dd-map" role="img"></svg>
<svg class="dd-step" viewBox="0 0 340 150" role="img" aria-label="One step of the chosen cell">
</svg>
<div role="status"><ol class="dd-said"></ol></div>
<div class="dd-answers"></div>
<p class="dd-line dd-forced">At <b></b>, in all cells: {gates}</p>
<p class="dd-line dd-swaps">Change it into: {swaps} <button type="button">Reset</button></p>
</div></div>
{script}"""

"""The three parts of a score, in the reader's hands: choose who asks, and take a part away.

    # parts (3, T, T), already scaled
    disentangled_scores(["a", "?", "b"], {"by hand": parts}, asks=1)

One row for each word that is asked: a bar a part, to the right where it is above 0, and the weight
that softmax makes of their sum. A part that is switched off counts as 0, and the weights are made
again. Python draws the first state, which stays where nothing moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deepdive_book.kit.diagrams import FONT
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

PARTS = (
    ("content to content", "value"), ("content to position", "query"),
    ("position to content", "key"),
)  # fmt: skip
WIDE, HIGH, MIDDLE, HALF, WEIGHT = 400.0, 30.0, 190.0, 92.0, 300.0  # where bars begin, how long
HEAD = 20.0  # of the line above the rows, with the ends of both scales
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def disentangled_scores(words: Sequence[str], tables: Mapping[str, Any], *, asks: int) -> Html:
    """Return the picture, with the bars of the word that asks first.

    Args:
        words: T of them, each of which asks and is asked.
        tables: name, such as that of a head -> its parts (3, T, T), in the order of `PARTS`: rows
            ask, columns are asked. The first is shown first.
        asks: the place of the word that asks first.

    Raises:
        ValueError: there is no table, one has another shape, or no word stands at `asks`.
    """
    shape = (len(PARTS), len(words), len(words))
    found = {name: np.asarray(_plain(parts), dtype=np.float64) for name, parts in tables.items()}
    for name, parts in found.items():
        if parts.shape != shape:
            raise ValueError(
                f"{name!r}: expected parts {shape}, one for each pair; got {parts.shape}"
            )
    if not found:
        raise ValueError("tables is empty; give the parts of one head at least")
    if not 0 <= asks < len(words):
        raise ValueError(f"asks is {asks}; expected a place from 0 to {len(words) - 1}")
    values = {
        "words": list(words), "asks": asks, "parts": [name for name, _ in PARTS],
        "tables": {name: parts.round(3).tolist() for name, parts in found.items()},
        "middle": MIDDLE, "half": HALF, "wide": WIDE - WEIGHT - 4,
    }  # fmt: skip
    given = json.dumps(values, separators=(",", ":"))
    name = f"sp{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    first = next(iter(found.values()))[:, asks].round(3)  # (3, T)
    weights = softmax(first.sum(0))
    drawn, said = _bars(words, first, weights), alt_text(words, asks, first, weights)
    html = _PAGE.format(
        id=name, drawn=drawn, said=escape(said), **ROLES,
        askers="".join(
            f'<option value="{i}"{" selected" * (i == asks)}>{i + 1}: {escape(word)}</option>'
            for i, word in enumerate(words)
        ),
        heads="".join(f"<option>{escape(each)}</option>" for each in found),
        switches="".join(
            f'<label><input type="checkbox" checked value="{i}"><span class="sp-dot" '
            f'style="background:{ROLES[role]}"></span>{part}</label>'
            for i, (part, role) in enumerate(PARTS)
        ),
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = f"Bars for the three parts of a score, a row for each of {len(words)} words. {said}"
    return Html(html, f"[bars: {said}]", [Picture([drawn], alt, ["parts, and weight"])])


def softmax(scores: Any) -> Any:
    """exp(scores) over their sum."""
    raised = np.exp(scores - scores.max())
    return raised / raised.sum()


def alt_text(words: Sequence[str], asks: int, parts: Any, weights: Any) -> str:
    """The state in words, for parts (3, T) and weights (T,) of one that asks."""
    best = int(weights.argmax())
    scores = sum_in_words(parts[:, best])
    return (
        f"{asks + 1}: {words[asks]} asks. The largest weight, {weights[best]:.2f}, goes to "
        f"{best + 1}: {words[best]}, whose parts are {scores}."
    )


def sum_in_words(parts: Any) -> str:
    """A sum in words, without a minus before zero: "2.5 + 0.0 − 0.1"."""
    shown = [f"{abs(part):.1f}" for part in parts]
    below = [part < 0 and text != "0.0" for part, text in zip(parts, shown, strict=True)]
    rest = (
        f" {'−' if minus else '+'} {text}" for minus, text in zip(below[1:], shown[1:], strict=True)
    )
    return "−" * bool(below[0]) + shown[0] + "".join(rest)


def _plain(values: Any) -> Any:
    return values.detach().double().cpu().numpy() if hasattr(values, "detach") else values


def _bars(words: Sequence[str], parts: Any, weights: Any) -> str:
    most = float(np.abs(parts).max())
    unit, body = HALF / max(most, 1e-9), []
    for kind, x, said in (
        ("sp-low", MIDDLE - HALF, f"−{most:.1f}"), ("", MIDDLE, "0"),
        ("sp-high", MIDDLE + HALF, f"{most:.1f}"), ("", WIDE - 26, "weight 1"),
    ):  # fmt: skip
        body.append(
            f'<text class="{kind}" x="{x:g}" y="10" font-size="12" text-anchor="middle" '
            f'dominant-baseline="central" fill="currentColor">{said}</text>'
        )
    for i, word in enumerate(words):
        top = HEAD + HIGH * i
        body.append(
            f'<g class="sp-row" data-at="{i}"><rect class="sp-field" x="0" y="{top:g}" '
            f'width="{WIDE:g}" height="{HIGH:g}" fill="currentColor" fill-opacity="0"/>'
            f'<text x="4" y="{top + HIGH / 2:g}" font-size="14" dominant-baseline="central" '
            f'fill="currentColor">{i + 1}: {escape(word)}</text>'
        )
        for p, (_, role) in enumerate(PARTS):
            value = float(parts[p, i]) * unit
            body.append(
                f'<rect class="sp-part" x="{MIDDLE + min(value, 0):.2f}" '
                f'y="{top + 4 + 8 * p:g}" width="{abs(value):.2f}" height="6" '
                f'fill="{ROLES[role]}"/>'
            )
        body.append(
            f'<rect class="sp-weight" x="{WEIGHT:g}" y="{top + 8:g}" height="14" '
            f'width="{(WIDE - WEIGHT - 4) * weights[i]:.2f}" fill="{ROLES["weight"]}"/></g>'
        )
    high = HEAD + HIGH * len(words)
    lines = "".join(
        f'<path d="M{x:g} {HEAD:g}V{high:g}" stroke="currentColor" stroke-opacity=".4"/>'
        for x in (MIDDLE, WEIGHT)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {high:g}" width="{WIDE:g}" '
        f'style="max-width:100%;height:auto;{FONT}" class="sp-bars" role="img" '
        f'aria-label="A row for each word: its three parts, and its weight">{"".join(body)}{lines}'
        "</svg>"
    )


_PAGE = """\
<style>
.sp :is(input[type=range], select, button) {{ min-height: 1.7rem; }}
.sp label {{ padding-block: .25rem; }}
.sp {{ max-width: 34rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.sp p {{ margin: .35em 0; }}
.sp-bars {{ display: block; }}
.sp.sp-live .sp-row {{ cursor: pointer; }}
.sp-row:hover .sp-field {{ fill-opacity: .06; }}
.sp-row.sp-asks .sp-field {{ fill-opacity: .12; }}
.sp-row.sp-asks text {{ font-weight: 600; }}
.sp-choose {{ display: flex; flex-wrap: wrap; gap: .2em 1em; align-items: center; margin: .3em 0; }}
.sp-choose[hidden] {{ display: none; }}
.sp-choose label {{ display: inline-flex; gap: .35em; align-items: center; margin: 0; }}
.sp-dot {{ width: .8em; height: .8em; border-radius: 2px; }}
.sp input {{ margin: 0; accent-color: {output}; }}
@media print {{ .sp-choose {{ display: none; }} }}
</style>
<div class="sp" id="{id}" role="group" aria-label="The three parts of a score">
<div class="sp-choose" hidden><label>asks <select class="sp-asker">{askers}</select></label>
<label>head <select class="sp-head">{heads}</select></label></div>
<div class="sp-choose" hidden>{switches}</div>
{drawn}
<p class="sp-said" role="status" aria-live="polite">{said}</p>
</div>
{script}"""

"""A summary beside a reference: the reader changes its words, and sees what is shared, and scores.

    rouge_demo("The patient denies fever.", {"as written": "Patient denies fever."},
                  {"denies": "reports"})

A click turns a word into its other one, if it has one, then crosses it out, then puts it back. A
shared word stands in a full box, as often as both texts have it (ROUGE-1); two shared words in a
row are joined by a bar (ROUGE-2); a word of the longest common order is underlined (ROUGE-L).
Python draws the first state, which stays on paper and without scripts.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from deepdive.evaluate.summaries import rouge_l, rouge_n, words
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
SCORES = ("ROUGE-1", "ROUGE-2", "ROUGE-L")


class Marks(NamedTuple):
    """Of each word of a text: is it shared, the first of a shared pair, in the common order?"""

    shared: list[bool]
    pair: list[bool]
    order: list[bool]


def rouge_demo(reference: str, summaries: Mapping[str, str], others: Mapping[str, str]) -> Html:
    """Return the picture, with the first summary beside the reference.

    others: what a word turns into when it is clicked, and back. Raises ValueError for a text
    without words, or without a summary.
    """
    texts = {name: words(summary) for name, summary in summaries.items()}
    if not texts or not all(texts.values()) or not words(reference):
        raise ValueError("reference, summaries: expected a text with words, and one summary or "
                         "more with words")  # fmt: skip
    theirs = words(reference)
    spec = {"reference": theirs, "texts": texts, "others": dict(others)}
    given = json.dumps(spec, separators=(",", ":"))
    name = f"mw{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    first = next(iter(texts.values()))
    choose = "".join(
        f'<button type="button" aria-pressed="{str(not i).lower()}">{escape(one)}</button>'
        for i, one in enumerate(texts)
    )
    bars = "".join(
        f'<div class="mw-bar"><span>{score}</span><span class="mw-line"><i style="width:{value}%">'
        f"</i></span><b>{value}</b></div>"
        for score, value in zip(SCORES, scores(first, theirs), strict=True)
    )
    said = alt_text(first, theirs)
    html = painted(_PAGE).format(
        id=name, choose=choose, reference=_boxes(theirs, marks(theirs, first), "span"),
        summary=_boxes(first, marks(first, theirs), "button"), bars=bars, said=said,
        script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[a summary beside a reference: {said}]")


def marks(text: Sequence[str], other: Sequence[str]) -> Marks:
    """Mark the words of `text` that `other` shares, from the left, each as often as both have it;
    of several longest common orders the one that keeps the earliest words of `text`.
    """
    pairs = _first([*pairwise(text)], [*pairwise(other)])
    return Marks(_first(text, other), [*pairs, False][: len(text)], _in_order(text, other))


def _first(items: Sequence[object], others: Sequence[object]) -> list[bool]:
    left, found = Counter(others), []
    for item in items:
        found.append(left[item] > 0)
        left[item] -= 1
    return found


def _in_order(text: Sequence[str], other: Sequence[str]) -> list[bool]:
    n, m = len(text), len(other)
    longest = [[0] * (m + 1) for _ in range(n + 1)]  # of text[i:] and other[j:]
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            both = longest[i + 1][j + 1] + 1
            longest[i][j] = (
                both if text[i] == other[j] else max(longest[i + 1][j], longest[i][j + 1])
            )
    found, i, j = [False] * n, 0, 0
    while i < n and j < m:
        if text[i] == other[j]:
            found[i], i, j = True, i + 1, j + 1
        elif longest[i + 1][j] > longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def scores(text: Sequence[str], reference: Sequence[str]) -> list[int]:
    """ROUGE-1, ROUGE-2 and ROUGE-L in percent, F1, halves rounded up."""
    found = (rouge_n(text, reference, 1), rouge_n(text, reference, 2), rouge_l(text, reference))
    return [int(100 * one.f1 + 0.5) for one in found]


def alt_text(text: Sequence[str], reference: Sequence[str]) -> str:
    """The state in words."""
    shared, pair, order = (sum(row) for row in marks(text, reference))
    values = ", ".join(f"{n} {v}" for n, v in zip(SCORES, scores(text, reference), strict=True))
    return (
        f"{len(text)} words beside {len(reference)}: {shared} are shared, so are {pair} pairs in a "
        f"row, and {order} words stand in the same order. {values}."
    )


def _boxes(text: Sequence[str], marked: Marks, tag: str) -> str:
    made = []
    for word, shared, pair, order in zip(text, *marked, strict=True):
        kind = "mw-word" + " mw-shared" * shared + " mw-pair" * pair + " mw-order" * order
        more = ' type="button"' if tag == "button" else ""
        made.append(f'<{tag}{more} class="{kind}">{escape(word)}</{tag}>')
    return " ".join(made)


_PAGE = """\
<style>
.mw {{ max-width: 44rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.mw-choose {{ display: flex; flex-wrap: wrap; gap: .4em; margin: .3em 0 .6em; }}
.mw-choose[hidden] {{ display: none; }}
.mw-choose button {{ font: inherit; min-height: 2.3rem; margin: 0; padding: .2em .7em;
  color: inherit; cursor: pointer; background: transparent; border: 1px solid currentColor;
  border-radius: .3em; }}
.mw-choose button[aria-pressed=true] {{ font-weight: 700;
  box-shadow: inset 0 0 0 1px currentColor; }}
.mw-head {{ font-weight: 600; margin: .5em 0 .1em; }}
.mw-text {{ display: flex; flex-wrap: wrap; gap: .4em .7em; padding: .2em 0; }}
.mw-word {{ font: inherit; color: inherit; background: transparent; margin: 0; padding: .15em .4em;
  border: 1px dashed @score; border-radius: .3em; position: relative; min-height: 2rem;
  display: inline-flex; align-items: center; }}
button.mw-word {{ cursor: pointer; }}
.mw-shared {{ border: 2px solid @value; background: @value33; }}
.mw-order {{ box-shadow: 0 4px 0 @key; }}
.mw-pair::after {{ content: ""; position: absolute; left: 100%; top: 42%; width: .85em; height: 4px;
  background: @query; }}
.mw-gone {{ text-decoration: line-through; opacity: .7; }}
.mw :focus-visible {{ outline: 3px solid @weight; outline-offset: 2px; }}
.mw-bar {{ display: grid; grid-template-columns: 5.2rem 1fr 2.4rem; gap: .6em; align-items: center;
  padding: .1em 0; }}
.mw-line {{ display: block; height: .8em; border: 1px solid @score; border-radius: 2px; }}
.mw-line i {{ display: block; height: 100%; background: @key; }}
.mw-bar b {{ text-align: right; font-variant-numeric: tabular-nums; }}
.mw p {{ margin: .5em 0; min-height: 4.4em; }}
@media print {{ .mw-choose {{ display: none; }} .mw p {{ min-height: 0; }} }}
</style>
<div class="mw" id="{id}" role="group" aria-label="A summary beside a reference, and its scores">
<div class="mw-choose" hidden>{choose}</div>
<div class="mw-head">Reference, written by a person</div>
<div class="mw-text mw-reference">{reference}</div>
<div class="mw-head">Summary</div><div class="mw-text mw-summary">{summary}</div>
<p role="status" aria-live="polite">{said}</p>
<div class="mw-bars">{bars}</div></div>
{script}"""

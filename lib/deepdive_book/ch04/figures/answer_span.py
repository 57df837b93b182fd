"""An answer whose two ends the reader moves, and its scores in several languages.

    answer_span([Marked("German", "de", "Wo entspringt die Aare?", ["Die", ...], (3, 5))])

The words between the ends are what is said; the right ones are underlined. Below stand the words
that count, by the rules of the language (`deepdive_book.ch04.multilingual_qa_metrics`), those
shared, and both scores. Python draws the first state, which stays where nothing moves.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from deepdive_book.ch04.multilingual_qa_metrics import words_in
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Marked(NamedTuple):
    """A sentence in parts, the first and last of them that answer, and what is said at first.

    `code` chooses the rules; `join` stands between the parts, "" where a language has no blanks.
    """

    language: str
    code: str
    question: str
    parts: Sequence[str]
    right: tuple[int, int]
    said: tuple[int, int]
    join: str = " "


def answer_span(texts: Sequence[Marked]) -> Html:
    """Return the picture of the first sentence.

    Raises ValueError for none, and where an end is no part of its sentence.
    """
    if not texts or not all(
        0 <= first <= last < len(one.parts)
        for one in texts
        for first, last in (one.right, one.said)
    ):
        raise ValueError("texts: expected one at least, with ends that are parts of the sentence")
    spec = [
        {**one._asdict(), "words": [words_in(part, one.code) for part in one.parts]}
        for one in texts
    ]
    given = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    name, one = f"ae{hashlib.sha256(given.encode()).hexdigest()[:10]}", texts[0]
    said = alt_text(one, *one.said)
    html = _PAGE.format(
        id=name, style=painted(_STYLE), question=escape(one.question), told=escape(said),
        options="".join(f'<option value="{i}">{escape(t.language)}' for i, t in enumerate(texts)),
        parts=_parts(one, *one.said), script=script(_SCRIPT, id=name, values=given),
        last=len(one.parts) - 1, first=one.said[0], end=one.said[1],
    )  # fmt: skip
    return Html(html, f"[an answer's ends: {said}]")


def alt_text(one: Marked, first: int, last: int) -> str:
    """What is said from part `first` to `last`, and its scores, in words."""
    spoken, right = (
        [word for part in one.parts[a : b + 1] for word in words_in(part, one.code)]
        for a, b in ((first, last), one.right)
    )
    shared = (Counter(spoken) & Counter(right)).total()
    total = len(spoken) + len(right)
    exact = "yes" if spoken == right else "no"
    return (
        f"Said: “{one.join.join(one.parts[first : last + 1])}”. It counts as {_listed(spoken)}; "
        f"right is {_listed(right)}. Shared: {shared}. F1 = 2 · {shared} / ({len(spoken)} + "
        f"{len(right)}) = {2 * shared / max(1, total):.2f}. Exact match: {exact}."
    )


def _listed(words: Sequence[str]) -> str:
    return f"{' · '.join(words)} ({len(words)})" if words else "nothing (0)"


def _parts(one: Marked, first: int, last: int) -> str:
    marks = []
    for i, part in enumerate(one.parts):
        kinds = ["ae-right"] * (one.right[0] <= i <= one.right[1])
        kinds += ["ae-said"] * (first <= i <= last)
        marks.append(f'<span class="{" ".join(kinds)}">{escape(part)}</span>')
    return one.join.join(marks)


_STYLE = """\
.ae { max-width: 40rem; font: 1rem/1.5 system-ui, sans-serif; margin: .4em 0; }
.ae-choose { display: flex; flex-wrap: wrap; gap: .3em 1.2em; align-items: center; }
.ae-choose[hidden] { display: none; }
.ae-choose label { display: flex; flex-wrap: wrap; gap: .2em .5em; align-items: center; }
.ae-choose select { font: inherit; min-height: 2.4rem; }
.ae-choose input { width: min(11rem, 60vw); min-height: 2.4rem; accent-color: @key; }
.ae :focus-visible { outline: 3px solid @weight; outline-offset: 2px; }
.ae-text { font-size: 1.15rem; line-height: 2.1; margin: .5em 0; min-height: 4.4em; }
.ae-text span { padding: .15em .1em; border-bottom: 4px solid transparent; }
.ae-text .ae-right { border-bottom-color: @value; }
.ae-text .ae-said { background: @key44; }
.ae p { margin: .5em 0; min-height: 5.8em; }
.ae p.ae-asked { min-height: 0; font-weight: bold; }
@media print { .ae-choose { display: none; } .ae p { min-height: 0; } }
"""
_PAGE = """\
<style>{style}</style>
<div class="ae" id="{id}" role="group" aria-label="An answer's two ends, and its scores">
<div class="ae-choose" hidden><label>language <select>{options}</select></label>
<label>begins at <input type="range" min="0" max="{last}" value="{first}"></label>
<label>ends with <input type="range" min="0" max="{last}" value="{end}"></label></div>
<p class="ae-asked">{question}</p>
<div class="ae-text" aria-hidden="true">{parts}</div>
<p role="status" aria-live="polite">{told}</p>
</div>
{script}"""

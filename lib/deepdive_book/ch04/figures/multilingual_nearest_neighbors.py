"""Sentences of several languages in one heap: what is nearest to one, with each language's
mean left on or taken off, and each language turned onto the first, or not.

    multilingual_nearest_neighbors(["English", "French"], [texts, textes], {"": [u, v], "means":
    [...], "turned": [...]})

The reader chooses a language and a sentence, and sees its nearest in each other language, and the
nearest of the whole heap. Which is nearest is decided beforehand, among all numbers of the vectors.
Python draws the first state, which stays where nothing moves: on paper, without scripts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepdive.evaluate.similarity import cosines
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

KINDS = ("", "means", "turned")
WAYS = ("as they are", "means off", "means off and turned")
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def multilingual_nearest_neighbors(
    names: Sequence[str], texts: Sequence[Sequence[str]], vectors: Mapping[str, Sequence[Tensor]],
    language: int = 0, chosen: int = 0,
) -> Html:  # fmt: skip
    """Return the picture, vectors as they are, at the sentence `chosen` of `language`.

    texts: for each language as many, translations at the same place. vectors: for "", "means" and
    "turned" a tensor (N, d) for each language. Raises ValueError where something is missing.
    """
    sizes = {len(side) for side in texts}
    sizes |= {len(side) for kind in KINDS for side in vectors.get(kind, ())}
    if len(sizes) != 1 or any(len(vectors.get(kind, ())) != len(names) for kind in KINDS):
        raise ValueError(
            f"texts, vectors: expected one length and {len(names)} languages for each of "
            f"{', '.join(map(repr, KINDS))}"
        )
    found = [_near(vectors[kind]) for kind in KINDS]
    spec = {"names": list(names), "texts": [list(side) for side in texts], "found": found}
    given = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    name = f"oh{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    said = alt_text(spec, 0, language)
    html = _PAGE.format(
        id=name, style=painted(_STYLE), said=escape(said),
        shown=_shown(spec, 0, language, chosen),
        languages="".join(f'<option value="{k}">{escape(each)}' for k, each in enumerate(names)),
        script=script(_SCRIPT, id=name, values=given, language=language, chosen=chosen),
    )  # fmt: skip
    return Html(html, f"[one heap: {said}]")


def _near(sides: Sequence[Tensor]) -> dict[str, Any]:
    """each[k][i][m]: the nearest of language m to sentence i of language k; heap[k][i]: language
    and place of the nearest of all but itself.
    """
    n, every = len(sides[0]), torch.cat([side.double() for side in sides])
    table = cosines(every, every)
    table.fill_diagonal_(-2.0)
    blocks = table.view(len(sides), n, len(sides), n)
    best = table.argmax(1).view(len(sides), n)
    return {
        "each": blocks.argmax(3).tolist(),
        "heap": [[[at // n, at % n] for at in row] for row in best.tolist()],
    }


def alt_text(spec: Mapping[str, Any], way: int, language: int) -> str:
    """How the heap is for one language, in words."""
    heap, n = spec["found"][way]["heap"][language], len(spec["texts"][0])
    right = sum(at == i and of != language for i, (of, at) in enumerate(heap))
    own = sum(of == language for of, _ in heap)
    return (
        f"{spec['names'][language]}, {WAYS[way]}: for {right} of {n} sentences the nearest of the "
        f"whole heap is a translation, for {own} another sentence of the same language."
    )


def _shown(spec: Mapping[str, Any], way: int, language: int, chosen: int) -> str:
    names, found = spec["names"], spec["found"][way]
    rows = [
        _line(spec, f"in {name}", m, found["each"][language][chosen][m], chosen)
        for m, name in enumerate(names)
        if m != language
    ]
    of, at = found["heap"][language][chosen]
    asked = escape(spec["texts"][language][chosen]) + _gloss(spec, language, chosen)
    whole = _line(spec, f"of the whole heap ({names[of]})", of, at, chosen)
    return f'<p class="oh-asked">{asked}</p><dl>{"".join(rows)}{whole}</dl>'


def _line(spec: Mapping[str, Any], head: str, language: int, at: int, chosen: int) -> str:
    kind, mark = ("oh-right", "translation") if at == chosen else ("oh-wrong", "another")
    return (
        f'<div class="{kind}"><dt>nearest {escape(head)}: <b>{mark}</b></dt>'
        f"<dd>{escape(spec['texts'][language][at])}{_gloss(spec, language, at)}</dd></div>"
    )


def _gloss(spec: Mapping[str, Any], language: int, at: int) -> str:
    return f"<i>{escape(spec['texts'][0][at])}</i>" if language else ""


_STYLE = """
.oh { max-width: 44rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }
.oh-controls { display: grid; gap: .4em; grid-template-columns: minmax(0, 1fr); }
.oh-controls[hidden] { display: none; }
.oh label { display: flex; flex-wrap: wrap; gap: .3em .6em; align-items: center; }
.oh select { font: inherit; color: inherit; background: transparent; min-height: 2.4rem;
  max-width: 100%; border: 1px solid color-mix(in srgb, currentColor 55%, transparent);
  border-radius: .4em; }
.oh option { color: #000; background: #fff; }
.oh input { width: 1.3rem; height: 1.3rem; margin: .4rem 0; accent-color: @residual; }
.oh :focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.oh-asked { font-weight: 600; margin: .6em 0 .3em; }
.oh i { display: block; font-weight: 400; opacity: .8; }
.oh dl { margin: 0; display: grid; gap: .4em; }
.oh dl > div { border-left: 4px solid @query; padding-left: .6em; }
.oh dl > .oh-right { border-left-color: @value; }
.oh dd { margin: 0; }
.oh [role=status] { min-height: 4.2em; margin: .5em 0; }
@media print { .oh-controls { display: none; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="oh" id="{id}" role="group" aria-label="Sentences of several languages in one heap">
<div class="oh-controls" hidden>
<label>language <select>{languages}</select></label>
<label>sentence <select></select></label>
<label><input type="checkbox"> take each language's mean off</label>
<label><input type="checkbox"> and turn each language onto the first</label></div>
<div class="oh-shown">{shown}</div>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""

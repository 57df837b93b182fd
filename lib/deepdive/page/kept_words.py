"""Which words a model keeps, for each of several penalties: a slider at which words drop out.

    kept_words([Kept("i find it dull .", decides=(3,), kept=rows, says=said)], points)

`rows` has a row of booleans for each point of the slider, `says` an answer. A word that is kept
stands in a full box; one that was dropped is pale and struck through; words that decide by the rule
are underlined. Below stand bars for what holds over many texts at this penalty. Python draws the
first state, which stays where nothing moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from deepdive.page.markup import Html, script
from deepdive.page.palette import ROLES

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Kept:
    """A text of T words, the places of those that decide; for each point of the slider which are
    kept, (points, T), and what is answered.
    """

    text: str
    decides: Sequence[int]
    kept: Sequence[Sequence[bool]]
    says: Sequence[str]


@dataclass(frozen=True)
class Point:
    """One place of the slider: the penalty, and bars over many texts, name -> a share from 0 to
    1.
    """

    penalty: float
    bars: dict[str, float]


def kept_words(texts: Sequence[Kept], points: Sequence[Point], start: int = 0) -> Html:
    """Return the picture, with the first text at point `start`.

    Raises:
        ValueError: a text or a point is missing, points have other bars than the first, or a text
            has not one row and one answer a point, or not one boolean a word.
    """
    if not texts or not 0 <= start < len(points):
        raise ValueError(f"came {len(texts)} texts, {len(points)} points and start {start}; "
                         "expected a text, and a point where it starts")  # fmt: skip
    names = list(points[0].bars)
    for point in points:
        if list(point.bars) != names:
            raise ValueError(
                f"penalty {point.penalty:g}: bars {list(point.bars)}, expected {names}"
            )
    values = []
    for text in texts:
        words = text.text.split()
        if {len(text.kept), len(text.says)} != {len(points)}:
            raise ValueError(f"{text.text!r}: came {len(text.kept)} rows and {len(text.says)} "
                             f"answers, expected {len(points)}, one a point")  # fmt: skip
        if any(len(row) != len(words) for row in text.kept):
            raise ValueError(f"{text.text!r}: expected {len(words)} booleans a row, one a word")
        values.append({
            "words": words, "decides": [i in text.decides for i in range(len(words))],
            "kept": [[int(k) for k in row] for row in text.kept], "says": list(text.says),
        })  # fmt: skip
    spec = {
        "texts": values, "start": start,
        "points": [{"penalty": f"{p.penalty:g}", "bars": [drawn(v) for v in p.bars.values()]}
                   for p in points],
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"))
    name = f"kw{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    first, point = texts[0], points[start]
    said = told(first, points, start)
    line = " ".join(
        f'<span class="kw-word{" kw-kept" * bool(k)}{" kw-decides" * (i in first.decides)}">'
        f"{escape(w)}</span>"
        for i, (w, k) in enumerate(zip(first.text.split(), first.kept[start], strict=True))
    )
    bars = "".join(
        f'<div class="kw-row"><span>{escape(bar)}</span><span class="kw-line"><i '
        f'style="width:{wide}"></i></span><b>{share}</b></div>'
        for bar, (wide, share) in ((bar, drawn(share)) for bar, share in point.bars.items())
    )
    options = "".join(f'<option value="{i}">{escape(t.text)}' for i, t in enumerate(texts))
    html = _PAGE.format(
        id=name, words=line, bars=bars, said=escape(said), options=options, last=len(points) - 1,
        start=start, penalty=f"{point.penalty:g}", full=ROLES["value"], mark=ROLES["key"],
        grey=ROLES["score"], focus=ROLES["weight"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[kept words: {said}]")


def drawn(share: float) -> tuple[str, str]:
    """How wide a bar is, and what stands beside it."""
    return f"{100 * share:.1f}%", f"{100 * share:.0f} %"


def told(text: Kept, points: Sequence[Point], at: int) -> str:
    """The state in words."""
    words = text.text.split()
    kept = [w for w, k in zip(words, text.kept[at], strict=True) if k]
    return (
        f"At a penalty of {points[at].penalty:g} it keeps {len(kept)} of {len(words)} words, "
        f"“{' '.join(kept)}”, and answers: {text.says[at]}."
    )


_PAGE = """\
<style>
.kw {{ max-width: 40rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.kw-choose {{ display: flex; flex-wrap: wrap; gap: .4em 1.2em; align-items: center; }}
.kw-choose[hidden] {{ display: none; }}
.kw-choose label {{ display: flex; flex-wrap: wrap; gap: .3em .5em; align-items: center;
  max-width: 100%; }}
.kw-choose select {{ font: inherit; min-height: 2.4rem; max-width: 100%; }}
.kw-choose input {{ width: min(15rem, 45vw); min-height: 2.4rem; accent-color: {full}; }}
.kw-choose :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.kw-choose output {{ min-width: 3em; }}
.kw-text {{ display: flex; flex-wrap: wrap; gap: .35em .3em; margin: .8em 0; min-height: 4.6em;
  align-content: flex-start; }}
.kw-word {{ padding: .1em .4em; border: 1px dashed {grey}88; border-radius: 4px;
  text-decoration: line-through; opacity: .75; }}
.kw-kept {{ border: 2px solid {full}; background: {full}33; text-decoration: none; opacity: 1;
  font-weight: 600; }}
.kw-decides {{ box-shadow: 0 4px 0 {mark}; }}
.kw-row {{ display: grid; grid-template-columns: minmax(8rem, 12rem) 1fr 3.6rem; gap: .6em;
  align-items: center; padding: .1em 0; }}
.kw-line {{ display: block; height: .8em; border: 1px solid {grey}88; border-radius: 2px; }}
.kw-line i {{ display: block; height: 100%; background: {mark}; }}
.kw-row b {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }}
.kw p {{ margin: .35em 0; min-height: 4.4em; }}
@media print {{ .kw-choose {{ display: none; }} .kw p, .kw-text {{ min-height: 0; }} }}
</style>
<div class="kw" id="{id}" role="group" aria-label="Words that are kept at a penalty">
<div class="kw-choose" hidden><label>review <select>{options}</select></label>
<label>penalty a word <input type="range" min="0" max="{last}" step="1" value="{start}">
<output>{penalty}</output></label></div>
<div class="kw-text">{words}</div>
<p role="status" aria-live="polite">{said}</p>
<div class="kw-bars">{bars}</div>
</div>
{script}"""

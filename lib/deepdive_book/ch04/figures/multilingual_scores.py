"""One model's scores in many languages, and the average of those that the reader lets in.

    multilingual_scores([Score("French", "Latin", "1101...", low, high, ceiling, rival, 38.5,
    wrong)])

A line a language: a dot for the share that is right with its interval, a bar where the same learned
in the language itself ends, a ring for a rival. Ticks say which languages are in the average, whose
doubt is over sentences: the same ones were asked in all languages. Below stands what went wrong in
one language. Python draws the first state, which stays where nothing moves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from html import escape
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Wrong(NamedTuple):
    """A text that was misread, in the language and in English; what was said, and what is true."""

    text: str
    english: str
    said: str
    true: str


class Score(NamedTuple):
    """A language: which answers are right ("1" or "0" each), the interval of their share, two
    other shares to draw, pieces a sentence, and some that went wrong.
    """

    name: str
    script: str
    right: str
    low: float
    high: float
    own: float
    rival: float
    pieces: float
    wrong: Sequence[Wrong] = ()

    @property
    def share(self) -> float:
        """The share of right answers."""
        return self.right.count("1") / len(self.right)


def multilingual_scores(
    scores: Sequence[Score],
    *,
    own: str = "learned in the language itself",
    rival: str = "without the encoder",
    chosen: int = 0,
) -> Html:
    """Return the picture: all languages in the average, and `chosen` below.

    Raises ValueError for no language, and where they were not asked the same number of questions.
    """
    if len({len(score.right) for score in scores}) != 1:
        raise ValueError("scores: expected one at least, all with as many answers")
    spec: dict[str, Any] = {
        "languages": [{**score._asdict(), "wrong": [w._asdict() for w in score.wrong]}
                      for score in scores],
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    name = f"ls{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    said = averaged(scores)
    html = _PAGE.format(
        id=name, style=painted(_STYLE), said=escape(said), own=escape(own), rival=escape(rival),
        lines="".join(_line(i, score) for i, score in enumerate(scores)),
        options="".join(f'<option value="{i}">{escape(s.name)}' for i, s in enumerate(scores)),
        told=escape(alt_text(scores[chosen])), wrong=_wrong(scores[chosen].wrong),
        script=script(_SCRIPT, id=name, values=given, chosen=chosen),
    )  # fmt: skip
    every = ", ".join(f"{score.name} {100 * score.share:.1f} %" for score in scores)
    return Html(html, f"[scores of {len(scores)} languages: {said} {every}]")


def averaged(scores: Sequence[Score]) -> str:
    """The average of some languages in words, and how far other sentences could move it."""
    if not scores:
        return "No language is ticked, so there is no average."
    n, many = len(scores[0].right), len(scores)
    share = sum(score.share for score in scores) / many
    by_text = [sum(score.right[i] == "1" for score in scores) / many for i in range(n)]
    doubt = 1.96 * sqrt(sum((x - share) ** 2 for x in by_text) / n / max(1, n - 1))
    naive = 1.96 * sqrt(share * (1 - share) / (n * many))
    least = min(scores, key=lambda score: score.share)
    return (
        f"{many} language{'s' * (many > 1)}: {100 * share:.1f} % on average, give or take "
        f"{100 * doubt:.1f}. (It would be {100 * naive:.1f} if the {n * many:,} answers were to "
        f"as many different sentences; there are {n}.) "
        f"The lowest is {least.name}, {100 * least.share:.1f} %."
    )


def alt_text(score: Score) -> str:
    """A language in words."""
    return (
        f"{score.name}, {score.script} letters, {score.pieces:.0f} pieces a sentence: "
        f"{100 * score.share:.1f} % right, between {100 * score.low:.0f} and "
        f"{100 * score.high:.0f}. Learned in {score.name} itself: {100 * score.own:.1f} %. Without "
        f"the encoder: {100 * score.rival:.1f} %."
    )


def _line(i: int, score: Score) -> str:
    at = {"l": score.low, "w": score.high - score.low, "d": score.share, "o": score.own,
          "r": score.rival}  # fmt: skip
    place = {key: f"{100 * value:.1f}%" for key, value in at.items()}
    return (
        f'<li><label><input type="checkbox" checked value="{i}">{escape(score.name)}</label>'
        f'<span class="ls-track" aria-hidden="true"><i class="ls-span" style="left:{place["l"]};'
        f'width:{place["w"]}"></i><i class="ls-own" style="left:{place["o"]}"></i>'
        f'<i class="ls-rival" style="left:{place["r"]}"></i>'
        f'<i class="ls-dot" style="left:{place["d"]}"></i></span>'
        f"<span>{100 * score.share:.0f}</span></li>"
    )


def _wrong(some: Sequence[Wrong]) -> str:
    return "".join(
        f'<li><span dir="auto">{escape(w.text)}</span><small>{escape(w.english)}</small>'
        f"<b>read as {escape(w.said)}; it is {escape(w.true)}</b></li>"
        for w in some
    )


_STYLE = """\
.ls { max-width: 42rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }
.ls ul { list-style: none; margin: .3em 0; padding: 0; }
.ls-all li { display: grid; grid-template-columns: 8.2rem 1fr 3.2rem; gap: .5rem;
  align-items: center; margin: 0; }
.ls-all label { display: flex; gap: .4rem; align-items: center; min-height: 1.65rem; }
.ls-all input { width: 1.15rem; height: 1.15rem; accent-color: @key; flex: none; margin: 0; }
.ls-all li > :last-child { text-align: right; font-variant-numeric: tabular-nums; }
.ls-track { position: relative; height: 1.3rem; border-left: 1px solid @score;
  border-right: 1px solid @score; background: linear-gradient(@score, @score) 50% 0/1px 100%
  no-repeat; }
.ls-track i { position: absolute; top: 50%; }
.ls-span { height: .34rem; margin-top: -.17rem; background: @key88; }
.ls-dot { width: .75rem; height: .75rem; margin: -.375rem; border-radius: 50%; background: @key; }
.ls-own { width: .2rem; height: 1.1rem; margin: -.55rem -.1rem; background: @value; }
.ls-rival { width: .5rem; height: .5rem; margin: -.35rem; border-radius: 50%;
  border: .1rem solid @query; }
.ls-off .ls-track { opacity: .35; }
.ls-axis { font-size: .92rem; }
.ls-axis > :nth-child(2) { display: flex; justify-content: space-between; }
.ls-axis b { font-weight: normal; width: 2.4em; margin: 0 -1.2em; text-align: center; }
.ls-key { display: flex; flex-wrap: wrap; gap: .1em 1.2em; }
.ls-key span { display: flex; gap: .4em; align-items: center; }
.ls-key .ls-track { width: 1.2rem; border: 0; background: none; }
.ls-key i { left: 50%; }
.ls-choose { display: flex; flex-wrap: wrap; gap: .4em .8em; align-items: center; }
.ls-choose[hidden] { display: none; }
.ls-choose :is(select, button) { font: inherit; min-height: 2.4rem; max-width: 100%; }
.ls :focus-visible { outline: 3px solid @weight; outline-offset: 2px; }
.ls p { margin: .5em 0; min-height: 4.2em; }
.ls-wrong li { border-left: 3px solid @query; padding: .1em .7em; margin: .5em 0; }
.ls-wrong :is(small, b) { display: block; font-size: .92rem; }
@media (max-width: 480px) { .ls-all li { grid-template-columns: 7.4rem 1fr 2.2rem; } }
@media print { .ls-choose { display: none; } .ls p { min-height: 0; } }
"""
_PAGE = """\
<style>{style}</style>
<div class="ls" id="{id}" role="group" aria-label="A model's scores in many languages">
<div class="ls-choose" hidden>in the average: <button type="button">all</button>
<button type="button">Latin letters</button><button type="button">other letters</button>
<button type="button">none</button></div>
<p role="status" aria-live="polite">{said}</p>
<div class="ls-key" aria-hidden="true">
<span><span class="ls-track"><i class="ls-dot"></i></span>learned in English</span>
<span><span class="ls-track"><i class="ls-span" style="left:0;width:100%"></i></span>its interval
</span><span><span class="ls-track"><i class="ls-own"></i></span>{own}</span>
<span><span class="ls-track"><i class="ls-rival"></i></span>{rival}</span></div>
<ul class="ls-all"><li class="ls-axis" aria-hidden="true"><span></span>
<span><b>0</b><b>50</b><b>100</b></span><span>%</span></li>{lines}</ul>
<div class="ls-choose" hidden><label>right in English, wrong in
<select>{options}</select></label></div>
<p class="ls-told" aria-live="polite">{told}</p>
<ul class="ls-wrong">{wrong}</ul>
</div>
{script}"""

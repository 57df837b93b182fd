"""Pretraining objectives as attention masks: which tokens are masked, which position attends to
which, and the targets. The reader selects the objective, and a token.

    cross_lingual_masks([Example("masked", ["she", "drinks", None], [0, 0, 0], sees, {2: "milk"},
    "...")])

The selected token has a thick frame, the tokens it attends to have filled boxes, and the rest is
pale; below a box is its target. Python draws the objective shown first, which remains without
scripts, as in print.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import ROLES

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
GAP = "[MASK]"
KINDS = ("tl-one", "tl-two")  # of the first language, of the second


@dataclass(frozen=True)
class Example:
    """One pretraining objective on a sentence or a pair.

    words    the input tokens, T of them; None: a masked token
    lines    the line of each, 0 or 1
    sees     (T, T), true where the row's token attends to the column's
    asked    position -> its target
    told     one or two sentences about the objective
    foreign  which tokens are in the second language; by default all of line 1
    pick     the position selected first; by default the first with a target
    """

    name: str
    words: Sequence[str | None]
    lines: Sequence[int]
    sees: Sequence[Sequence[bool]]
    asked: Mapping[int, str]
    told: str
    foreign: Sequence[bool] | None = None
    pick: int | None = None

    def plain(self) -> dict[str, Any]:
        """Return the script's input."""
        n = len(self.words)
        foreign = [line == 1 for line in self.lines] if self.foreign is None else self.foreign
        first = min(self.asked, default=0)
        return {
            "name": self.name,
            "words": [word or GAP for word in self.words],
            "lines": [int(line) for line in self.lines],
            "sees": [[int(bool(row[s])) for s in range(n)] for row in self.sees],
            "asked": [self.asked.get(t, "") for t in range(n)],
            "kinds": [KINDS[bool(other)] for other in foreign],
            "told": self.told,
            "pick": first if self.pick is None else self.pick,
        }


def cross_lingual_masks(lessons: Sequence[Example], first: int = 0) -> Html:
    """Return the figure, opened at the objective `first`. Raises ValueError for none, for one
    without a line and a row and column of `sees` for each token, and for targets or a selection at
    positions without a token.
    """
    if not lessons:
        raise ValueError("lessons: expected at least one")
    if not 0 <= first < len(lessons):
        raise ValueError(f"first: got {first}, expected 0 to {len(lessons) - 1}")
    for lesson in lessons:
        n = len(lesson.words)
        rows = [len(lesson.lines), len(lesson.sees), *(len(row) for row in lesson.sees)]
        if set(rows) != {n} or not set(lesson.lines) <= {0, 1}:
            raise ValueError(
                f"{lesson.name}: {n} words need {n} lines, 0 or 1, and {n} x {n} booleans in sees"
            )
        places = [*lesson.asked, lesson.plain()["pick"]]
        if not all(0 <= place < n for place in places):
            raise ValueError(f"{lesson.name}: asks or picks at {places}, of {n} words")
    plain = [lesson.plain() for lesson in lessons]
    given = json.dumps({"lessons": plain, "first": first}, separators=(",", ":"))
    name = f"tl{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    shown = plain[first]
    said = describe(shown, shown["pick"])
    buttons = "".join(
        f'<button type="button" aria-pressed="{str(i == first).lower()}">{escape(each["name"])}'
        "</button>"
        for i, each in enumerate(plain)
    )
    lines = "".join(
        f'<div class="tl-line">{"".join(_box(shown, t) for t in _of(shown, line))}</div>'
        for line in (0, 1)
    )
    html = _PAGE.format(
        id=name, buttons=buttons, lines=lines, told=escape(shown["told"]), said=escape(said),
        one=ROLES["key"], two=ROLES["value"], mark=ROLES["query"], gray=ROLES["score"],
        focus=ROLES["weight"], script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[{shown['name']}: {shown['told']} {said}]")


def describe(lesson: Mapping[str, Any], at: int) -> str:
    """Describe what one token attends to, and its target."""
    words, seen = lesson["words"], [s for s, open_ in enumerate(lesson["sees"][at]) if open_]
    looked = ", ".join(words[s] for s in seen if words[s] != GAP and s != at)
    what = "The masked token" if words[at] == GAP else f"“{words[at]}”"
    asked = lesson["asked"][at]
    must = f" Its target is “{asked}”." if asked else " It has no target."
    return f"{what} attends to {looked or 'no other token'}.{must}"


def _of(lesson: Mapping[str, Any], line: int) -> list[int]:
    return [t for t, where in enumerate(lesson["lines"]) if where == line]


def _box(lesson: Mapping[str, Any], t: int) -> str:
    pick = lesson["pick"]
    kind = f"tl-word {lesson['kinds'][t]}"
    kind += " tl-seen" * bool(lesson["sees"][pick][t]) + " tl-pick" * (t == pick)
    return (
        f'<span class="{kind}"><span>{escape(lesson["words"][t])}</span>'
        f"<i>{escape(lesson['asked'][t])}</i></span>"
    )


_PAGE = """\
<style>
.tl {{ max-width: 42rem; font: 1rem/1.35 system-ui, sans-serif; margin: .4em 0; }}
.tl-choose {{ display: flex; flex-wrap: wrap; gap: .35em; margin-bottom: .6em; }}
.tl-choose[hidden] {{ display: none; }}
.tl-choose button {{ font: inherit; min-height: 2.4rem; padding: .1em .6em; cursor: pointer;
  border: 1px solid {gray}; border-radius: 4px; background: none; color: inherit; }}
.tl-choose button[aria-pressed=true] {{ border: 2px solid {mark}; font-weight: 600; }}
.tl :focus-visible {{ outline: 3px solid {focus}; outline-offset: 2px; }}
.tl-line {{ display: flex; flex-wrap: wrap; gap: .3em; min-height: 3.9em; }}
.tl-word {{ display: inline-flex; flex-direction: column; align-items: center; font: inherit;
  min-width: 2.6rem; background: none; border: 0; padding: 0; color: inherit; opacity: .7; }}
.tl-word b {{ position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); }}
.tl .tl-line button.tl-word {{ cursor: pointer; background: none; border: 0; padding: 0;
  border-radius: 4px; }}
.tl-word > span {{ padding: .25em .5em; border: 1px dashed {gray}; border-radius: 4px;
  min-height: 1.9rem; box-sizing: border-box; }}
.tl-word > i {{ font-size: .95rem; min-height: 1.4em; font-weight: 600; }}
.tl-seen, .tl-pick {{ opacity: 1; }}
.tl-seen.tl-one > span {{ border: 2px solid {one}; background: {one}33; }}
.tl-seen.tl-two > span {{ border: 2px solid {two}; background: {two}33; }}
.tl-pick > span {{ outline: 3px solid {mark}; outline-offset: 1px; }}
.tl p {{ margin: .4em 0; }}
.tl-told {{ min-height: 5.6em; }}
.tl-said {{ min-height: 4.2em; }}
@media print {{ .tl-choose {{ display: none; }} .tl-told, .tl-said {{ min-height: 0; }} }}
</style>
<div class="tl" id="{id}" role="group" aria-label="Pretraining objectives as attention masks">
<div class="tl-choose" hidden>{buttons}</div>
<p class="tl-told">{told}</p>
{lines}
<p class="tl-said" role="status" aria-live="polite">{said}</p>
</div>
{script}"""

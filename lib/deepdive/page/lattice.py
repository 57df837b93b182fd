"""All ways to place the letters of a word on a few frames, and what each frame says, to be changed.

    lattice({"cat": {"-": [2, 2, 2, 2, 2], "c": [2, 1, 0, 0, 0], "a": ..., "t": ...}, "too": ...})

What a frame says is whole parts for each symbol; "-" is the blank. So every number in the picture
is whole, and the probability of the word is its number over the product of all frames' sums:

    ways(s, t) = (ways(s, t-1) + ways(s-1, t-1) + ways(s-2, t-1) if s may skip) * parts(s, t)

The reader presses the parts (0 to 4), a place of the lattice, or the arrow keys. Python draws the
first state, which stays where nothing moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from deepdive.page.diagrams import FONT, ROLES
from deepdive.page.figures import Picture
from deepdive.page.markup import Html, script

BLANK, MOST = "-", 4
TOGETHER = "\u2060\u00a0"  # a space at which no line ends, not even after a hyphen
WIDE, LEFT, STEP, TOP, ROW, ROUND = 400.0, 53.0, 74.0, 34.0, 42.0, 17.0
Parts = Mapping[str, Sequence[int]]
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Sums(NamedTuple):
    """What the lattice of one word says, all whole numbers.

    states   the symbol of each state, blanks between and around the letters
    before   what comes into each state in each frame (S, T), from the frame before
    ways     the same times what the frame says
    through  the sum over all paths of the word that go through a state in a frame (S, T)
    word     the sum over all paths of the word; `whole` over all paths there are
    """

    states: list[str]
    before: list[list[int]]
    ways: list[list[int]]
    through: list[list[int]]
    word: int
    whole: int


def sums(word: str, parts: Parts) -> Sums:
    """The numbers of one word, by the recursion forwards and the same backwards."""
    states = [BLANK, *(s for letter in word for s in (letter, BLANK))]
    S, T = len(states), len(parts[BLANK])
    said = [[parts[s][t] for t in range(T)] for s in states]
    before, ways = _along(states, said)
    back = [row[::-1] for row in _along(states[::-1], [row[::-1] for row in said[::-1]])[0][::-1]]
    through = [[ways[s][t] * back[s][t] for t in range(T)] for s in range(S)]
    whole = 1
    for t in range(T):
        whole *= sum(row[t] for row in parts.values())
    return Sums(states, before, ways, through, sum(row[-1] for row in ways[-2:]), whole)


def _along(
    states: Sequence[str], said: Sequence[Sequence[int]]
) -> tuple[list[list[int]], list[list[int]]]:
    """What comes into each state in each frame, and that times what is said."""
    S, T = len(states), len(said[0])
    before = [[0] * T for _ in states]
    ways = [[0] * T for _ in states]
    for t in range(T):
        for s in range(S):
            before[s][t] = int(s < 2) if t == 0 else sum(ways[i][t - 1] for i in ways_in(states, s))
            ways[s][t] = before[s][t] * said[s][t]
    return before, ways


def ways_in(states: Sequence[str], s: int) -> list[int]:
    """The states from which a path may come into state s."""
    skips = s > 1 and states[s] not in (BLANK, states[s - 2])
    return [i for i in ((s, s - 1, s - 2) if skips else (s, s - 1)) if i >= 0]


def greedy_of(parts: Parts) -> tuple[list[str], str]:
    """The symbol with most parts in each frame (the first of equal ones), and their text."""
    path = [max(parts, key=lambda s: parts[s][t]) for t in range(len(parts[BLANK]))]
    text = "".join(
        s for s, last in zip(path, ["", *path], strict=False) if s not in (BLANK, last)
    )  # fmt: skip
    return path, text


def equation(word: str, parts: Parts, s: int, t: int) -> str:
    """How the number of state s in frame t (from 0) comes about, in words."""
    found = sums(word, parts)
    name = _name(found.states, s)
    says = parts[found.states[s]][t]
    if t == 0:
        begins = (
            f"a path may begin here: {found.before[s][0]}" if s < 2 else "no path begins here: 0"
        )
        return f"Frame 1, {name}: {begins}; times {says} is {found.ways[s][0]}."
    told = " + ".join(str(found.ways[i][t - 1]) for i in ways_in(found.states, s))
    return (
        f"Frame {t + 1}, {name}: {told} = {found.before[s][t]} come in; times {says} is "
        f"{found.ways[s][t]}."
    )


def verdict(word: str, parts: Parts) -> str:
    """The word's probability, and what the likeliest symbols say."""
    found, (path, text) = sums(word, parts), greedy_of(parts)
    share = 100 * found.word / found.whole if found.whole else 0.0
    said = f"“{text}”" if text else "nothing"
    return (
        f"All paths of “{word}” together: {found.word:,} of {found.whole:,}, {share:.1f} %. The "
        f"likeliest symbol of each frame: {TOGETHER.join(path)}, which says {said}."
    )


def _name(states: Sequence[str], s: int) -> str:
    if states[s] == BLANK:
        return f"blank {s // 2 + 1}"
    which = ("first ", "second ", "third ", "fourth ")[states[:s].count(states[s])]
    return f"letter {states[s]}" if states.count(states[s]) == 1 else which + states[s]


def lattice(words: Mapping[str, Parts]) -> Html:
    """Return the picture of the first word; the reader may choose another.

    Args:
        words: what the frames say for each word: of the blank and of each of its letters, for
            at least two and at most five frames, parts from 0 to 4.

    Raises:
        ValueError: there is no word, one has more than four letters, or its parts do not fit.
    """
    for word, parts in words.items():
        lengths = {len(row) for row in parts.values()}
        if not 1 <= len(word) <= 4 or set(parts) != {BLANK, *word} or next(iter(parts)) != BLANK:
            raise ValueError(f"{word!r}: parts of {[*parts]}, expected {BLANK} and its 1-4 letters")
        if len(lengths) != 1 or not 2 <= min(lengths) <= 5:
            raise ValueError(f"{word!r}: rows of {sorted(lengths)} frames, expected 2 to 5 alike")
        if any(value not in range(MOST + 1) for row in parts.values() for value in row):
            raise ValueError(f"{word!r}: parts {parts}, expected whole numbers, 0 to {MOST}")
    if not words:
        raise ValueError("words: there is none")
    word, parts = next(iter(words.items()))
    given = json.dumps(
        {"words": {w: {s: [*row] for s, row in p.items()} for w, p in words.items()},
         "left": LEFT, "step": STEP, "top": TOP, "row": ROW, "round": ROUND, "most": MOST},
        separators=(",", ":"),
    )  # fmt: skip
    name = f"la{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    s, t = len(sums(word, parts).states) - 2, len(parts[BLANK]) - 1
    drawn = _drawing(word, parts, s, t)
    told = [equation(word, parts, s, t), verdict(word, parts)]
    html = _PAGE.format(
        id=name, drawn=drawn, table=_table(parts), told=escape(told[0]), sum=escape(told[1]),
        options="".join(f"<option>{escape(w)}" for w in words), focus=ROLES["weight"],
        letter=ROLES["key"], most=MOST, script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    alt = (
        f"Places of the word {word} in a column for each of {t + 1} frames, lines for the steps a "
        "path may take, and in each place a whole number: the sum of the ways to get there."
    )
    picture = Picture([drawn], alt, [f"all paths of “{word}”"])
    return Html(html, f"[lattice: {' '.join(told)}]", [picture])


def _drawing(word: str, parts: Parts, chosen: int, at: int) -> str:
    """The lattice; the script draws it anew in the same way."""
    found = sums(word, parts)
    S, T = len(found.states), len(parts[BLANK])

    def x(t: int) -> float:
        return LEFT + STEP * t

    def y(s: int) -> float:
        return TOP + ROW * s

    body = []
    for t in range(T):
        body.append(_text(x(t), 12, f"frame {t + 1}", 13, "middle"))
    for t in range(1, T):
        for s in range(S):
            for i in ways_in(found.states, s):
                used = found.ways[i][t - 1] and found.through[s][t]
                flow = (
                    found.ways[i][t - 1] * found.through[s][t] / found.before[s][t] if used else 0
                )
                wide = 0.7 + (7 * flow / found.word if found.word else 0)
                into = s == chosen and t == at
                body.append(
                    f'<line x1="{x(t - 1):g}" y1="{y(i):g}" x2="{x(t):g}" y2="{y(s):g}" '
                    f'stroke="{ROLES["weight"] if into else ROLES["score"]}" '
                    f'stroke-width="{wide:.2f}" stroke-opacity="{0.9 if into or used else 0.25}"/>'
                )
    for s, symbol in enumerate(found.states):
        body.append(_text(14, y(s) + 6, symbol, 17, "middle", bold=symbol != BLANK))
        for t in range(T):
            here, share = s == chosen and t == at, found.through[s][t] / (found.word or 1)
            role = ROLES["score" if symbol == BLANK else "key"]
            body.append(
                f'<g class="la-place" data-s="{s}" data-t="{t}"><circle cx="{x(t):g}" '
                f'cy="{y(s):g}" r="{ROUND:g}" class="la-paper"/><circle cx="{x(t):g}" '
                f'cy="{y(s):g}" r="{ROUND:g}" fill="{role}" fill-opacity="{0.65 * share:.2f}" '
                f'stroke="{ROLES["weight"] if here else role}" '
                f'stroke-width="{3.5 if here else 1.2}"/>'
                + _text(x(t), y(s) + 5, str(found.ways[s][t]), 14, "middle")
                + "</g>"
            )
    high = TOP + ROW * (S - 1) + ROUND + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:g} {high:g}" width="{WIDE:g}" '
        f'style="width:100%;max-width:34rem;height:auto;{FONT}" class="la-all" role="img" '
        f'aria-label="The ways to place a word on frames">{"".join(body)}</svg>'
    )


def _text(x: float, y: float, said: str, size: float, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{weight} '
        f'fill="currentColor">{escape(said)}</text>'
    )


def _table(parts: Parts) -> str:
    """A row of buttons for each symbol."""
    rows = []
    for symbol, row in parts.items():
        cells = "".join(
            f'<button type="button" data-symbol="{escape(symbol)}" data-t="{t}" aria-label='
            f'"frame {t + 1} says {escape(symbol)}: {value} parts" style="--part:{value}">{value}'
            "</button>"
            for t, value in enumerate(row)
        )
        rows.append(f'<div class="la-row"><span>{escape(symbol)}</span>{cells}</div>')
    return "".join(rows)


_PAGE = """\
<style>
.la {{ max-width: 34rem; font: 1rem/1.4 system-ui, sans-serif; margin: .4em 0; }}
.la p {{ margin: .4em 0; }}
.la svg.la-all {{ display: block; }}
.la .la-paper {{ fill: Canvas; }}
.la-live .la-place {{ cursor: pointer; }}
.la:focus-visible {{ outline: 3px solid {focus}; outline-offset: 3px; }}
.la-parts {{ margin: .2em 0; }}
.la-row {{ display: flex; align-items: stretch; margin: 2px 0; }}
.la-row span {{ width: 4%; text-align: center; font-weight: 600; align-self: center; }}
.la-row button {{ width: 18.5%; box-sizing: border-box; font: inherit; color: inherit;
  min-height: 1.9em; border: 2px solid Canvas; border-radius: 6px; padding: 0; background:
  color-mix(in srgb, {letter} calc(var(--part) * 16%), rgba(128, 128, 128, .13)); }}
.la-live .la-row button {{ cursor: pointer; }}
.la-choose {{ display: flex; flex-wrap: wrap; gap: .3em 1em; align-items: center; }}
.la-choose[hidden] {{ display: none; }}
.la-choose select, .la-choose button {{ font: inherit; }}
.la .la-told {{ min-height: 2.8em; }}
@media print {{ .la-choose {{ display: none; }} .la .la-told {{ min-height: 0; }} }}
</style>
<div class="la" id="{id}" role="group" aria-label="All ways to place a word on frames">
<div class="la-choose" hidden><label>word <select>{options}</select></label>
<button type="button">as at first</button></div>
{drawn}
<p>What each frame says, in parts (0 to {most}):</p>
<div class="la-parts">{table}</div>
<p class="la-told" role="status" aria-live="polite">{told}</p>
<p class="la-sum">{sum}</p>
</div>
{script}"""

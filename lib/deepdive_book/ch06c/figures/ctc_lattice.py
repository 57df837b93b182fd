"""CTC lattice: every alignment of a word with a few frames, whose outputs can be edited.

    ctc_lattice({"cat": {"-": [2, 2, 2, 2, 2], "c": [2, 1, 0, 0, 0], "a": ..., "t": ...}, "too":
    ...})

Each frame gives each symbol an integer weight; "-" is the blank. So the forward variable of each
node is an integer, and the word's probability is its total over the product of the frames' sums:

    alpha(s, t) = (alpha(s, t-1) + alpha(s-1, t-1) + alpha(s-2, t-1) if s may skip) * weight(s, t)

Readers press a weight (0 to 4), a node, or the arrow keys. Python draws the first state, which is
what paper and viewers without scripts show.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from deepdive_book.kit.diagrams import svg
from deepdive_book.kit.living import Choice, living
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES

BLANK, MOST = "-", 4
TOGETHER = "\u2060\u00a0"  # a space at which no line ends, not even after a hyphen
WIDE, LEFT, STEP, TOP, ROW, ROUND = 400.0, 53.0, 74.0, 34.0, 42.0, 17.0
Parts = Mapping[str, Sequence[int]]
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class Sums(NamedTuple):
    """The forward-backward sums of one word, all integers.

    states   the symbol of each state: the characters with a blank before, between, and after them
    before   the sum that enters each state in each frame (S, T), from the frame before
    ways     the forward variable: `before` times the frame's weight
    through  the sum over the word's alignments through a state in a frame (S, T): alpha * beta
    word     the sum over all alignments of the word; `whole`: over all alignments there are
    """

    states: list[str]
    before: list[list[int]]
    ways: list[list[int]]
    through: list[list[int]]
    word: int
    whole: int


def sums(word: str, parts: Parts) -> Sums:
    """Return the sums of one word by the forward and the backward recursion."""
    states = [BLANK, *(s for letter in word for s in (letter, BLANK))]
    S, T = len(states), len(parts[BLANK])
    emitted = [[parts[s][t] for t in range(T)] for s in states]
    before, ways = _recursion(states, emitted)
    back = [
        row[::-1] for row in _recursion(states[::-1], [row[::-1] for row in emitted[::-1]])[0][::-1]
    ]
    through = [[ways[s][t] * back[s][t] for t in range(T)] for s in range(S)]
    whole = 1
    for t in range(T):
        whole *= sum(row[t] for row in parts.values())
    return Sums(states, before, ways, through, sum(row[-1] for row in ways[-2:]), whole)


def _recursion(
    states: Sequence[str], emitted: Sequence[Sequence[int]]
) -> tuple[list[list[int]], list[list[int]]]:
    """The sum that enters each state in each frame, and that times the frame's weight."""
    S, T = len(states), len(emitted[0])
    before = [[0] * T for _ in states]
    ways = [[0] * T for _ in states]
    for t in range(T):
        for s in range(S):
            before[s][t] = int(s < 2) if t == 0 else sum(ways[i][t - 1] for i in ways_in(states, s))
            ways[s][t] = before[s][t] * emitted[s][t]
    return before, ways


def ways_in(states: Sequence[str], s: int) -> list[int]:
    """Return the predecessors of state s."""
    skips = s > 1 and states[s] not in (BLANK, states[s - 2])
    return [i for i in ((s, s - 1, s - 2) if skips else (s, s - 1)) if i >= 0]


def greedy_of(parts: Parts) -> tuple[list[str], str]:
    """Return the argmax of each frame (the first of equal ones), and its collapsed text."""
    path = [max(parts, key=lambda s: parts[s][t]) for t in range(len(parts[BLANK]))]
    text = "".join(
        s for s, last in zip(path, ["", *path], strict=False) if s not in (BLANK, last)
    )  # fmt: skip
    return path, text


def equation(word: str, parts: Parts, s: int, t: int) -> str:
    """Return in words how the sum of state s in frame t (from 0) is computed."""
    total = sums(word, parts)
    name = _name(total.states, s)
    says = parts[total.states[s]][t]
    if t == 0:
        begins = (
            f"an alignment may start here: {total.before[s][0]}"
            if s < 2
            else "no alignment starts here: 0"
        )
        return f"Frame 1, {name}: {begins}; times {says} is {total.ways[s][0]}."
    terms = " + ".join(str(total.ways[i][t - 1]) for i in ways_in(total.states, s))
    return (
        f"Frame {t + 1}, {name}: {terms} = {total.before[s][t]} enter; times {says} is "
        f"{total.ways[s][t]}."
    )


def verdict(word: str, parts: Parts) -> str:
    """Return the word's probability and the greedy decoding, in words."""
    total, (path, text) = sums(word, parts), greedy_of(parts)
    share = 100 * total.word / total.whole if total.whole else 0.0
    reading = f"“{text}”" if text else "the empty text"
    return (
        f"All alignments of “{word}” together: {total.word:,} of {total.whole:,}, {share:.1f}%. "
        f"Argmax of each frame: {TOGETHER.join(path)}, which collapses to {reading}."
    )


def _name(states: Sequence[str], s: int) -> str:
    if states[s] == BLANK:
        return f"blank {s // 2 + 1}"
    which = ("first ", "second ", "third ", "fourth ")[states[:s].count(states[s])]
    return f"character {states[s]}" if states.count(states[s]) == 1 else which + states[s]


def ctc_lattice(words: Mapping[str, Parts]) -> Html:
    """Return the lattice of the first word; readers may choose another.

    Args:
        words: the weights of each word: of the blank and of each of its characters, in two to
            five frames, from 0 to 4.

    Raises:
        ValueError: there is no word, one has more than four characters, or its weights don't fit.
    """
    for word, parts in words.items():
        lengths = {len(row) for row in parts.values()}
        if not 1 <= len(word) <= 4 or set(parts) != {BLANK, *word} or next(iter(parts)) != BLANK:
            raise ValueError(
                f"{word!r}: weights of {[*parts]}, expected {BLANK} and its 1-4 characters"
            )
        if len(lengths) != 1 or not 2 <= min(lengths) <= 5:
            raise ValueError(
                f"{word!r}: weights of {sorted(lengths)} frames, expected 2 to 5 for all"
            )
        if any(value not in range(MOST + 1) for row in parts.values() for value in row):
            raise ValueError(f"{word!r}: weights {parts}, expected integers, 0 to {MOST}")
    if not words:
        raise ValueError("words: got none, expected at least one")
    word, parts = next(iter(words.items()))
    s, t = 2 * len(word) - 1, len(parts[BLANK]) - 1
    tables = {w: {symbol: [*row] for symbol, row in p.items()} for w, p in words.items()}
    return living(
        "lattice", "CTC lattice: all alignments of a word", code=_SCRIPT, style=_STYLE,
        drawing=_drawing(word, parts, s, t), status=equation(word, parts, s, t),
        alt=f"The states of the word {word} in a column for each of {t + 1} frames, lines for the "
            "allowed transitions, and in each node an integer: its forward variable, the sum over "
            "all paths that reach it.",
        spec={"words": tables, "wide": WIDE, "left": LEFT, "step": STEP, "top": TOP, "row": ROW,
              "round": ROUND, "most": MOST},
        state={"parts": tables[word], "s": s, "t": t},
        controls=[Choice("word", "word", [*words])],
        below=f"<p>Weight of each symbol in each frame (0 to {MOST}):</p>{_table(parts)}"
              f'<p class="lattice-sum">{escape(verdict(word, parts))}</p>',
        try_this="press a weight below the drawing to change it; press a node, or use the arrow "
                 "keys, to read how its sum is computed.",
    )  # fmt: skip


def _drawing(word: str, parts: Parts, chosen: int, at: int) -> str:
    """The lattice; the script redraws it in the same way."""
    total = sums(word, parts)
    S, T = len(total.states), len(parts[BLANK])

    def x(t: int) -> float:
        return LEFT + STEP * t

    def y(s: int) -> float:
        return TOP + ROW * s

    body = []
    for t in range(T):
        body.append(_text(x(t), 12, f"frame {t + 1}", 13, "middle"))
    for t in range(1, T):
        for s in range(S):
            for i in ways_in(total.states, s):
                used = total.ways[i][t - 1] and total.through[s][t]
                flow = (
                    total.ways[i][t - 1] * total.through[s][t] / total.before[s][t] if used else 0
                )
                wide = 0.7 + (7 * flow / total.word if total.word else 0)
                into = s == chosen and t == at
                body.append(
                    f'<line x1="{x(t - 1):g}" y1="{y(i):g}" x2="{x(t):g}" y2="{y(s):g}" '
                    f'stroke="{ROLES["weight"] if into else ROLES["score"]}" '
                    f'stroke-width="{wide:.2f}" stroke-opacity="{0.9 if into or used else 0.25}"/>'
                )
    for s, symbol in enumerate(total.states):
        body.append(_text(14, y(s) + 6, symbol, 17, "middle", bold=symbol != BLANK))
        for t in range(T):
            here, share = s == chosen and t == at, total.through[s][t] / (total.word or 1)
            role = ROLES["score" if symbol == BLANK else "key"]
            body.append(
                f'<g class="lattice-node"><circle cx="{x(t):g}" '
                f'cy="{y(s):g}" r="{ROUND:g}" fill="Canvas"/><circle cx="{x(t):g}" '
                f'cy="{y(s):g}" r="{ROUND:g}" fill="{role}" fill-opacity="{0.65 * share:.2f}" '
                f'stroke="{ROLES["weight"] if here else role}" '
                f'stroke-width="{3.5 if here else 1.2}"/>'
                + _text(x(t), y(s) + 5, str(total.ways[s][t]), 14, "middle")
                + "</g>"
            )
    return svg(WIDE, TOP + ROW * (S - 1) + ROUND + 4, body)


def _text(x: float, y: float, words: str, size: float, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{weight} '
        f'fill="currentColor">{escape(words)}</text>'
    )


def _table(parts: Parts) -> str:
    """Buttons with the weights of each symbol."""
    rows = []
    for symbol, row in parts.items():
        cells = "".join(
            f'<button type="button" aria-label='
            f'"frame {t + 1}, {escape(symbol)}: weight {value}" style="--part:{value}">{value}'
            "</button>"
            for t, value in enumerate(row)
        )
        rows.append(f'<div class="lattice-row"><span>{escape(symbol)}</span>{cells}</div>')
    return f'<div class="lattice-parts">{"".join(rows)}</div>'


_STYLE = """
.lattice-node { cursor: pointer; }
.living .lattice-row { display: flex; align-items: center; margin: 2px 0; }
.lattice-row span { width: 5%; text-align: center; font-weight: 600; }
.living .lattice-row button { width: 18.5%; border: 2px solid Canvas; padding: 0; background:
  color-mix(in srgb, @key calc(var(--part) * 16%), rgba(128, 128, 128, .13)); }
"""

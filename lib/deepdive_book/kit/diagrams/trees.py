"""Arcs over a sentence: a tree above the words, guesses below them."""

from collections.abc import Sequence

from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.palette import ROLES

Arcs = Sequence[tuple[int, int]]
LETTER, BETWEEN, LEVEL = 9.0, 38.0, 24.0  # a name has room between its arc and the next


def arcs(words: Sequence[str], tree: Arcs, guessed: Arcs = (), names: Sequence[str] = ()) -> str:
    """Draw (dependent, head) pairs as arcs that end in an arrow at the head.

    `tree` stands above the words; `guessed` below, dashed where the tree does not have the pair.
    `names`, one for each pair of the tree, are written under its arcs.
    Raises ValueError for a pair that is not two words of the sentence.
    """
    for pair in (*tree, *guessed):
        if len(set(pair)) != 2 or not all(0 <= i < len(words) for i in pair):
            raise ValueError(f"the pair {pair} is not two of {len(words)} words: use their indices")
    wide = [LETTER * len(word) + BETWEEN for word in words]
    at = [sum(wide[:i]) + wide[i] / 2 for i in range(len(words))]
    over, under = ([abs(a - b) for a, b in pairs] or [0] for pairs in (tree, guessed))
    line = 14 + LEVEL * (1 + max(over)) * bool(tree)
    body = [text(x, line + 14, word, 16) for x, word in zip(at, words, strict=True)]
    for i, (a, b) in enumerate(tree):
        body.append(_arc(at[a], at[b], line, -LEVEL * abs(a - b), "key"))
        if i < len(names):
            middle = (at[a] + at[b]) / 2
            body.append(text(middle, line + 11 - LEVEL * abs(a - b), names[i], 12, "key"))
    for a, b in guessed:
        right = (a, b) in set(tree)
        body.append(_arc(at[a], at[b], line + 28, LEVEL * abs(a - b), "weight", not right))
    return svg(sum(wide), line + 36 + LEVEL * max(under), body)


def _arc(x1: float, x2: float, y: float, height: float, role: str, dashed: bool = False) -> str:
    """An arc from x1 to x2, with a head at x2; a negative height bends it upwards."""
    shift = 4 if x2 > x1 else -4  # arcs that come in from both sides do not meet in one point
    start, end = x1 + shift, x2 - shift
    color, way = ROLES[role], 1 if height > 0 else -1
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    tip = f"{end:g},{y:g} {end - 4:g},{y + 8 * way:g} {end + 4:g},{y + 8 * way:g}"
    bend = y + height * 4 / 3  # a cubic curve reaches three quarters of the way to its handles
    return (
        f'<path d="M {start:g} {y:g} C {start:g} {bend:g} {end:g} {bend:g} {end:g} {y:g}" '
        f'fill="none" stroke="{color}" stroke-width="1.8"{dash}/>'
        f'<polygon points="{tip}" fill="{color}"/>'
    )

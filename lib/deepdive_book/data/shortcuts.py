"""Generated verdicts into which a shortcut is planted: something that goes with the class by habit.

    with_shortcut("paper", 1000, share=0.95)

    paper    gazette : i find the music cold .          the newspaper that stands before the review
    first    i find the music warm , critics ...        the writer speaks first, or the others do
    others   children find the script dull , i ...      who the others are

The side of a shortcut goes with the class in `share` of the texts, and against it in the rest. What
the writer finds gives the class, as in `deepdive_book.data.labeled_cause_reviews`: a shortcut never
decides.
"""

import random
from dataclasses import dataclass

from deepdive.data.errors import DataError
from deepdive.data.generated import whole
from deepdive.data.reviews import POLARITY
from deepdive_book.data.labeled_cause_reviews import OTHERS, Verdicts, generated_verdicts
from deepdive_book.data.synthetic_reviews import BAD, GOOD

PAPERS = ("gazette", "herald")  # of negative reviews, of positive ones
SIDES = (("critics", "neighbours"), ("children", "friends"))  # likewise
KINDS = ("paper", "first", "others")


@dataclass(frozen=True)
class Shortcuts(Verdicts):
    """Verdicts with a shortcut in each.

    sign    for each text the places of the shortcut's word; none where it is no word
    held    for each text whether the shortcut goes with its class
    """

    sign: tuple[tuple[int, ...], ...] = ()
    held: tuple[bool, ...] = ()


def with_shortcut(kind: str, n: int, *, share: float = 0.95, seed: int = 0) -> Shortcuts:
    """n generated verdicts, all different, whose shortcut holds in `share` of them, drawn.

    Where `kind` is "first" or "others", all texts have two clauses.

    Raises DataError unless `kind` is one of `KINDS`, n from 1 to 10,000, and share from 0 to 1.
    """
    whole("n", n, 1, 10_000)
    if kind not in KINDS or not 0 <= share <= 1:
        raise DataError(f"kind={kind!r}, share={share}: one of {KINDS}, and a share of 1")
    draw = random.Random(f"{kind} {seed}")
    found: dict[str, tuple[int, bool]] = {}
    made = generated_verdicts(min(20_000, 2 * n + 20), seed)
    for text, label in zip(made.texts, made.labels, strict=True):
        if kind != "paper" and " , " not in text:
            continue
        held = draw.random() < share
        words = _rewritten(kind, text, label if held else 1 - label, draw)
        found.setdefault(" ".join(words), (label, held))
        if len(found) == n:
            break
    labels, holds = zip(*found.values(), strict=True)
    told = [_places(kind, text.split()) for text in found]
    deciding, writer, sign = zip(*told, strict=True)
    source = f"with_shortcut({kind!r}, {n}, share={share}, seed={seed}) (generated)"
    return Shortcuts(tuple(found), labels, POLARITY, source, deciding, writer, sign, holds)


def flip_labels(kind: str, text: str) -> str:
    """The same review with its shortcut on the other side, and what the writer finds as it was.

    That is the other paper, the clauses in the other order, or others of the other side.
    """
    if kind == "first":
        first, second = text[: -len(" .")].split(" , ")
        return f"{second} , {first} ."
    pairs = _pairs(kind)
    return " ".join(pairs.get(word, word) for word in text.split())


def _pairs(kind: str) -> dict[str, str]:
    """Each word of a shortcut, and the one for which it is exchanged."""
    one, other = ((PAPERS[0],), (PAPERS[1],)) if kind == "paper" else SIDES
    return {**dict(zip(one, other, strict=True)), **dict(zip(other, one, strict=True))}


def _rewritten(kind: str, text: str, side: int, draw: random.Random) -> list[str]:
    """The words of the text with the shortcut on this side."""
    words = text.split()
    if kind == "paper":
        return [PAPERS[side], ":", *words]
    if kind == "others":
        other = draw.choice(SIDES[side])
        return [other if word in OTHERS else word for word in words]
    first, second = text[: -len(" .")].split(" , ")
    if (first.split()[0] == "i") != bool(side):
        first, second = second, first
    return [*first.split(), ",", *second.split(), "."]


def _places(kind: str, words: list[str]) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """The places that decide, of the writer, and of the shortcut's word."""
    writer = words.index("i")
    end = next((i for i in range(writer, len(words)) if words[i] == ","), len(words))
    told = (*GOOD, *BAD, "not")
    deciding = tuple(i for i in range(writer, end) if words[i] in told)
    named = {"paper": PAPERS, "others": OTHERS, "first": ()}[kind]
    return deciding, writer, tuple(i for i, word in enumerate(words) if word in named)

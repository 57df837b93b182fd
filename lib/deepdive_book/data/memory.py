"""Generated tasks that ask how long a network remembers: copy, addition and Dyck words.

Each says how many steps lie between what must be kept and where it is asked for.
"""

import random

from deepdive.data.errors import DataError
from deepdive.data.generated import Generated, whole

BLANK, RECALL = 0, 1  # tokens of `copy_memory`; its symbols follow
SILENT = -100  # a target that counts for nothing, as torch's cross entropy has it


def copy_memory(
    n: int, length: int, symbols: int = 4, kinds: int = 4, seed: int = 0
) -> Generated[tuple[list[int], list[int]]]:
    """n pairs (tokens, targets) of `length` tokens each: keep symbols, and say them when asked.

        tokens     a b c d  _ _ ... _  ?  _ _ _ _      `symbols` of them, blanks, RECALL, blanks
        targets    . . . .  . . ... .  .  a b c d      SILENT, then the symbols

    Symbols are tokens 2 .. kinds + 1, so there are kinds + 2 tokens. A guess is right once in
    `kinds`. Raises DataError where `length` is below 2 * symbols + 1.

    Source: Hochreiter and Schmidhuber 1997, section 5.2, in the form of Arjovsky et al. 2016.
    """
    whole("n", n, 1, None)
    whole("symbols", symbols, 1, None)
    whole("kinds", kinds, 1, None)
    whole("length", length, 2 * symbols + 1, None)
    draw, pairs = random.Random(f"copy memory {seed}"), []
    for _ in range(n):
        memorized = [2 + draw.randrange(kinds) for _ in range(symbols)]
        between = [BLANK] * (length - 2 * symbols - 1)
        tokens = [*memorized, *between, RECALL, *[BLANK] * symbols]
        pairs.append((tokens, [SILENT] * (length - symbols) + memorized))
    arguments = f"{n}, {length}, symbols={symbols}, kinds={kinds}, seed={seed}"
    return Generated(pairs, f"copy_memory({arguments})")


def adding_problem(
    n: int, length: int, seed: int = 0
) -> Generated[tuple[list[tuple[float, float]], float]]:
    """n pairs (rows, sum): `length` rows (value, mark), and the sum of the two marked values.

    Values are uniform in 0 .. 1. One mark of 1 stands in the first half, one in the second; the
    others are 0. Who always answers 1 has the squared error 1/6 in the mean. Raises DataError where
    `length` is below 2.

    Source: Hochreiter and Schmidhuber 1997, section 5.4, with values and marks as later papers
    have them (theirs: values from -1 to 1, and the first mark within the first ten rows).
    """
    whole("n", n, 1, None)
    whole("length", length, 2, None)
    draw, pairs = random.Random(f"adding problem {seed}"), []
    for _ in range(n):
        values, half = [draw.random() for _ in range(length)], length // 2
        marked = draw.randrange(half), half + draw.randrange(length - half)
        rows = [(value, float(t in marked)) for t, value in enumerate(values)]
        pairs.append((rows, values[marked[0]] + values[marked[1]]))
    return Generated(pairs, f"adding_problem({n}, {length}, seed={seed})")


def dyck_words(n: int, length: int, kinds: int = 2, seed: int = 0) -> Generated[list[int]]:
    """n balanced words of `length` brackets of so many kinds: 0 opens 1, 2 opens 3, and so on.

    A bracket opens with the probability that draws every shape of its length equally often, so that
    depths are those of all Dyck words. Raises DataError where `length` is odd or below 2.
    `dyck_depths` says how deep a word is at each place.

    Source: the language of Chomsky and Schützenberger 1963; drawn as Arnold and Sleep 1980 do.
    """
    whole("n", n, 1, None)
    whole("kinds", kinds, 1, None)
    whole("length", length, 2, None)
    if length % 2:
        raise DataError(f"length: {length}, expected an even number: each bracket has its partner")
    draw = random.Random(f"dyck {seed}")
    words = [_dyck_word(draw, length, kinds) for _ in range(n)]
    return Generated(words, f"dyck_words({n}, {length}, kinds={kinds}, seed={seed})")


def _dyck_word(draw: random.Random, length: int, kinds: int) -> list[int]:
    word: list[int] = []
    open_brackets: list[int] = []
    while len(word) < length:
        left, depth = length - len(word), len(open_brackets)
        # Of the ways to finish, this part opens next (Arnold and Sleep 1980).
        opens = (depth + 2) * (left - depth) / (2 * left * (depth + 1))
        if draw.random() < opens:
            open_brackets.append(2 * draw.randrange(kinds))
            word.append(open_brackets[-1])
        else:
            word.append(open_brackets.pop() + 1)
    return word


def dyck_depths(word: list[int]) -> list[int]:
    """Return how many brackets are open after each of a word's; the last is 0.

    Raises DataError where a bracket closes another kind, or none, or one is left open.
    """
    open_brackets: list[int] = []
    depths = []
    for place, bracket in enumerate(word):
        if bracket % 2 == 0:
            open_brackets.append(bracket)
        elif not open_brackets or open_brackets.pop() != bracket - 1:
            raise DataError(f"word: bracket {bracket} at place {place} closes no {bracket - 1}")
        depths.append(len(open_brackets))
    if open_brackets:
        raise DataError(f"word: {len(open_brackets)} brackets are left open at its end")
    return depths

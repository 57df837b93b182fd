"""Generated tasks whose answer lies far from the question: ListOps, and values looked up by key.

Copying at a distance is `deepdive_book.data.memory.copy_memory`.
"""

import random
from statistics import median

from deepdive.data.errors import DataError
from deepdive.data.generated import Generated, whole
from deepdive_book.data.memory import BLANK, SILENT

OPERATORS = ("MIN", "MAX", "MED", "SM")
# Token of each symbol of ListOps: digits, the four opening brackets, the closing one.
LISTOPS = {
    symbol: 2 + i
    for i, symbol in enumerate((*"0123456789", *(f"[{name}" for name in OPERATORS), "]"))
}
CHANCE = 0.25  # that an argument is itself a list, as in the long form of the task


def list_ops(
    n: int,
    length: tuple[int, int] = (500, 2000),
    depth: int = 10,
    arguments: int = 10,
    seed: int = 0,
) -> Generated[tuple[list[str], int]]:
    """n pairs such as (["[MAX", "2", "[MIN", "4", "7", "]", "0", "]"], 4), all different.

    Lists stand in lists, at most `depth` deep, with 2 to `arguments` arguments each; an argument is
    a list with probability 1/4, else a digit. MIN and MAX are themselves, MED is the median,
    rounded down, SM the sum modulo 10. Kept are those of length[0] to length[1] symbols, brackets
    counted; the defaults are those of Long Range Arena.

    Raises DataError where in 20,000 draws in a row no list has the wanted length.
    Source: Nangia and Bowman 2018; at this length Tay et al. 2021 ("Long Range Arena").
    """
    whole("n", n, 1, None)
    whole("depth", depth, 1, None)
    whole("arguments", arguments, 2, None)
    whole("length[0]", length[0], 4, length[1])
    draw = random.Random(f"list ops {seed}")
    found: dict[tuple[str, ...], int] = {}
    misses = 0
    while len(found) < n:
        symbols: list[str] = []
        value = _list(draw, symbols, depth, arguments, length[1])
        drawn = tuple(symbols)
        if value is None or len(drawn) < length[0] or drawn in found:
            misses += 1
            if misses == 20_000:
                raise DataError(
                    f"length: no list of {length[0]} to {length[1]} symbols in 20,000 draws at "
                    f"depth {depth} with {arguments} arguments: allow other lengths, or more depth"
                )
            continue
        found[drawn], misses = value, 0
    pairs = [(list(symbols), value) for symbols, value in found.items()]
    given = f"{n}, {length}, depth={depth}, arguments={arguments}, seed={seed}"
    return Generated(pairs, f"list_ops({given})")


def _list(
    draw: random.Random, symbols: list[str], depth: int, arguments: int, most: int
) -> int | None:
    """Write one list behind `symbols` and return its value, None once there are too many."""
    name = draw.choice(OPERATORS)
    symbols.append(f"[{name}")
    values: list[int] = []
    for _ in range(draw.randint(2, arguments)):
        if depth > 1 and draw.random() < CHANCE:
            value = _list(draw, symbols, depth - 1, arguments, most)
        else:
            value = draw.randrange(10)
            symbols.append(str(value))
        if value is None or len(symbols) >= most:
            return None
        values.append(value)
    symbols.append("]")
    return evaluate(name, values)


def evaluate(operator: str, values: list[int]) -> int:
    """Return what an operator of ListOps makes of its arguments."""
    if operator == "MIN":
        return min(values)
    if operator == "MAX":
        return max(values)
    return int(median(values)) if operator == "MED" else sum(values) % 10


def look_up(
    n: int, length: int, questions: int = 8, keys: int = 16, values: int = 8, seed: int = 0
) -> Generated[tuple[list[int], list[int]]]:
    """n pairs (tokens, targets) of `length` tokens: each key with a value, then keys alone.

        tokens     0 0 kv 0 kv 0 0 0 kv ... kv 0  k k k      every key once, at a drawn place
        targets    . . .  . .  . . . .  ... .  .  v v v      SILENT, and the value

    A pair is one token, so one layer of attention can answer; were they two, an earlier layer would
    have to join them first. 0 is a blank, key k is token 1 + k, key k with value v is token 1 +
    keys + k * values + v: keys * (values + 1) + 1 tokens. A target is 0 .. values - 1, and a guess
    is right once in `values`. Raises DataError where `length` has no room for all keys and
    questions, or there are more questions than keys.

    Source: associative recall, with several questions in a row as in Arora et al. 2023 ("Zoology").
    """
    whole("n", n, 1, None)
    whole("values", values, 2, None)
    whole("keys", keys, 1, None)
    whole("questions", questions, 1, keys)
    whole("length", length, keys + questions, None)
    draw, rows = random.Random(f"look up {seed}"), []
    for _ in range(n):
        stored = [draw.randrange(values) for _ in range(keys)]
        asked = draw.sample(range(keys), questions)
        tokens = [BLANK] * (length - questions) + [1 + key for key in asked]
        for key, place in enumerate(draw.sample(range(length - questions), keys)):
            tokens[place] = 1 + keys + key * values + stored[key]
        targets = [SILENT] * (length - questions) + [stored[key] for key in asked]
        rows.append((tokens, targets))
    given = f"{n}, {length}, questions={questions}, keys={keys}, values={values}, seed={seed}"
    return Generated(rows, f"look_up({given})")

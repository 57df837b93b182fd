"""Generated notes of an office, and codes that are planted in them, so often as is known.

    anna of the north office was punctual , quick and careless .
    paul met ida in the south office .
    emma was in room 4 1 .
    the code of leo is 4 7 1 9 .                      a canary

Nothing is real. Digits stand in other notes too, drawn anew in each: the one thing that comes again
is a code. How well anyone can guess new notes is known (`floor`).
"""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from deepdive.data.generated import Generated, whole
from deepdive_book.data.synthetic_references import MEN, OFFICES, TOGETHER, WOMEN, person

NAMES = tuple(sorted(WOMEN + MEN))
DIGITS = "0123456789"
TIMES = (0, 1, 2, 4, 8, 16)


class Code(NamedTuple):
    """Whose code it is, its four digits, and in how many notes it stands."""

    name: str
    digits: str
    times: int

    @property
    def note(self) -> str:
        """The note in which it stands."""
        return f"the code of {self.name} is {' '.join(self.digits)} ."


def planted_codes(seed: int = 0, times: Sequence[int] = TIMES) -> list[Code]:
    """A code for each of the 18 names, as many names for each of `times`; who has which is drawn.

    Raises DataError unless `times` are at most 18 numbers.
    """
    whole("times", len(times), 1, len(NAMES))
    draw = random.Random(f"codes {seed}")
    names = draw.sample(NAMES, len(NAMES) // len(times) * len(times))
    return [
        Code(name, f"{draw.randrange(10_000):04}", times[i % len(times)])
        for i, name in enumerate(names)
    ]


def generated_notes(n: int, seed: int = 0, codes: Sequence[Code] = ()) -> Generated[str]:
    """n generated notes, and each code's note `times` times, in drawn order.

    Raises DataError unless n is from 1 to 20,000.
    """
    whole("n", n, 1, 20_000)
    draw = random.Random(f"notes {seed}")
    notes = [_note(draw) for _ in range(n)] + [c.note for c in codes for _ in range(c.times)]
    draw.shuffle(notes)
    return Generated(notes, f"generated_notes({n}, seed={seed}, {len(codes)} codes)")


def floor() -> float:
    """The mean loss of one note in nats, the end token counted, of whoever knows the language: its
    entropy. No model can do better on notes that it has not seen.
    """
    names = math.log(len(NAMES))
    office = -sum(p * math.log(p) for p in (TOGETHER, 1 - TOGETHER))
    qualities = 3 * math.log(2) + math.log(6 * 5 * 4)
    met = math.log(len(NAMES) - 1) + math.log(len(OFFICES))
    return math.log(3) + names + (office + qualities + met + 2 * math.log(10)) / 3


def _note(draw: random.Random) -> str:
    kind = draw.randrange(3)
    if kind == 0:
        return person(draw)[0]
    if kind == 1:
        one, other = draw.sample(NAMES, 2)
        return f"{one} met {other} in the {draw.choice(OFFICES)} office ."
    return f"{draw.choice(NAMES)} was in room {draw.choice(DIGITS)} {draw.choice(DIGITS)} ."

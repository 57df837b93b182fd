"""Generated references for a job in which an injustice of known size is planted.

    anna of the north office was punctual , quick and careless .           turned down
    otto of the south office was punctual , quick and careless .           hired

Three qualities, each good or bad, say how likely somebody is able (`ABLE`), and nothing else does:
neither the name nor the office. Whoever is not able was not hired. Of the able women a share
(`UNFAIR`) was turned down all the same: that is the injustice, and it stands in the labels. Women
are mostly in the north office, men in the south (`TOGETHER`), so that the office gives away what a
hidden name does not.
"""

import random
from dataclasses import dataclass

from deepdive.data.generated import whole
from deepdive.data.reviews import Labeled

WOMEN = ("anna", "clara", "emma", "ida", "lena", "maria", "nora", "paula", "ruth")
MEN = ("ben", "carl", "emil", "jonas", "leo", "max", "otto", "paul", "tom")
OFFICES = ("north", "south")
GOOD = ("punctual", "quick", "careful", "friendly", "inventive", "patient")
BAD = ("late", "slow", "careless", "rude", "forgetful", "impatient")
DECISIONS = ("turned down", "hired")
ABLE = (0.05, 0.35, 0.7, 0.95)  # how likely somebody is able, by the number of good qualities
UNFAIR = 0.4  # of the able women, the share that was turned down
TOGETHER = 0.9  # of the women in the north office, of the men in the south


@dataclass(frozen=True)
class References(Labeled):
    """References with the decision that was taken, and what is true of each.

    able, woman   for each reference 0 or 1
    good          how many of its three qualities are good, 0 to 3
    """

    able: tuple[int, ...] = ()
    woman: tuple[int, ...] = ()
    good: tuple[int, ...] = ()


def hired(good: int, woman: bool, unfair: float = UNFAIR) -> float:
    """How likely somebody with so many good qualities was hired: what a model has to learn."""
    return ABLE[good] * (1 - unfair * woman)


def person(draw: random.Random) -> tuple[str, bool, int]:
    """A drawn reference, whether it is a woman's, and how many good qualities it names."""
    woman = draw.random() < 0.5
    office = OFFICES[woman == (draw.random() >= TOGETHER)]
    name, kinds = draw.choice(WOMEN if woman else MEN), draw.sample(range(len(GOOD)), 3)
    good = [draw.random() < 0.5 for _ in kinds]
    first, second, third = (
        (GOOD if yes else BAD)[kind] for kind, yes in zip(kinds, good, strict=True)
    )
    return f"{name} of the {office} office was {first} , {second} and {third} .", woman, sum(good)


def generated_references(n: int, seed: int = 0, unfair: float = UNFAIR) -> References:
    """n generated references; a text may come twice. Raises DataError unless n is 1 to 20,000."""
    whole("n", n, 1, 20_000)
    draw, rows = random.Random(f"hirings {seed}"), []
    for _ in range(n):
        text, woman, good = person(draw)
        able = draw.random() < ABLE[good]
        decided = able and not (woman and draw.random() < unfair)
        rows.append((text, int(decided), int(able), int(woman), good))
    texts, labels, able_, women, goods = zip(*rows, strict=True)
    source = f"generated_references({n}, seed={seed}, unfair={unfair}) (generated)"
    return References(texts, labels, DECISIONS, source, able_, women, goods)

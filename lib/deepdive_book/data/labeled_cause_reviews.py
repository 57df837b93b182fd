"""Generated reviews whose deciding words are known: what an explanation of them has to find.

The writer says what he finds, and often what others find; his own words alone give the class:

    i find the music cold .                                          negative
    i find the music cold and the script dull .                      negative: either would do
    critics do not find the script dull , i find the music cold .    negative
    i do not find the music cold , friends find the script dull .    positive

What others find is drawn apart from the class: nothing can be told from it. So no place decides,
and no word without those beside it.
"""

import random
from dataclasses import dataclass

from deepdive.data.generated import whole
from deepdive.data.reviews import POLARITY, Labeled
from deepdive_book.data.synthetic_reviews import BAD, GOOD

THINGS = ("story", "acting", "script", "music", "ending", "dialogue", "direction", "photography")
OTHERS = ("critics", "friends", "children", "neighbours", "others")
FORMS = ("{own} .", "{own} and {more} .", "{other} , {own} .", "{own} , {other} .")
DENIED = 0.4  # the share of clauses that are


@dataclass(frozen=True)
class Verdicts(Labeled):
    """Reviews with a class each, and what decides it.

    deciding   for each review the places of the words by which the rule decides: the adjectives of
               what the writer finds, and the *not* before them
    writer     for each review the place of *i*, which says whose words count
    """

    deciding: tuple[tuple[int, ...], ...] = ()
    writer: tuple[int, ...] = ()


def generated_verdicts(n: int, seed: int = 0) -> Verdicts:
    """n generated reviews, all different, as words with blanks between.

    The four forms are drawn alike. Raises DataError unless n is from 1 to 20,000.
    """
    whole("n", n, 1, 20_000)
    draw = random.Random(f"verdicts {seed}")
    found: dict[str, tuple[int, tuple[int, ...], int]] = {}
    while len(found) < n:
        label, denied = draw.randrange(2), draw.random() < DENIED
        first, second, third = draw.sample(THINGS, 3)
        mine, also = draw.sample(GOOD if label != denied else BAD, 2)
        verb = "do +not find" if denied else "find"
        theirs = "do not find" if draw.random() < DENIED else "find"
        marked = draw.choice(FORMS).format(
            own=f"i {verb} the {first} +{mine}",
            more=f"the {second} +{also}",
            other=f"{draw.choice(OTHERS)} {theirs} the {third} {draw.choice(GOOD + BAD)}",
        )
        words = marked.split()
        places = tuple(i for i, word in enumerate(words) if word.startswith("+"))
        found.setdefault(marked.replace("+", ""), (label, places, words.index("i")))
    labels, deciding, writer = zip(*found.values(), strict=True)
    source = f"generated_verdicts({n}, seed={seed}) (generated)"
    return Verdicts(tuple(found), labels, POLARITY, source, deciding, writer)

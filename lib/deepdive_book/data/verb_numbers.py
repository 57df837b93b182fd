"""Generated beginnings of English sentences, up to a verb: is the verb one of many, or of one?

    ("the", "keys", "to", "the", "old", "cabinet")           # are

The subject's number decides, whatever stands between. So the one word that decides is known: an
explanation of a model that is right can be held to it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from deepdive.data.generated import Generated, whole

# one, many
NOUNS = {
    "key": "keys", "cabinet": "cabinets", "box": "boxes", "door": "doors", "letter": "letters",
    "garden": "gardens", "road": "roads", "house": "houses", "guard": "guards", "farmer": "farmers",
    "teacher": "teachers", "friend": "friends", "picture": "pictures", "window": "windows",
    "bridge": "bridges", "boat": "boats", "child": "children", "woman": "women", "man": "men",
    "bell": "bells",
}  # fmt: skip
BEHIND = ("to", "of", "near", "behind", "beside", "with")
BEFORE = ("near", "behind", "beside", "below")
ADJECTIVES = ("old", "small", "red", "heavy", "strange", "new")
LONGEST = 16
DID = ("saw", "found", "sold", "painted", "liked", "forgot")  # of one and of many alike


@dataclass(frozen=True)
class Beginning:
    """What stands before a verb.

    plural      the verb is one of many: "are", not "is"
    subject     the place of the word that decides
    attractors  the places of nouns of the other number
    """

    words: tuple[str, ...]
    plural: bool
    subject: int
    attractors: tuple[int, ...]


def verb_numbers(n: int, seed: int = 0) -> Generated[Beginning]:
    """n generated beginnings of 2 to 16 words, no two alike (1 to 100,000).

    Half of them begin with a place ("near the boats of the man ,"), so that neither the first noun
    nor the last decides. The subject has up to two additions ("to the old cabinet", "that the
    guards saw"). Each noun is as often one as many, whatever the others are. Raises DataError for
    another n.
    """
    whole("n", n, 1, 100_000)
    draw = random.Random(f"verb_numbers {seed}")
    found: dict[tuple[str, ...], Beginning] = {}
    while len(found) < n:
        made = _beginning(draw)
        if len(made.words) <= LONGEST:
            found.setdefault(made.words, made)
    return Generated(found.values(), f"verb_numbers({n}, seed={seed})")


def _beginning(draw: random.Random) -> Beginning:
    words: list[str] = []
    nouns: list[tuple[int, bool]] = []

    def phrase() -> bool:
        plural = draw.random() < 0.5
        noun = draw.choice(list(NOUNS))
        words.extend(["the", draw.choice(ADJECTIVES)] if draw.random() < 0.3 else ["the"])
        nouns.append((len(words), plural))
        words.append(NOUNS[noun] if plural else noun)
        return plural

    if draw.random() < 0.5:
        words.append(draw.choice(BEFORE))
        phrase()
        if draw.random() < 0.4:
            words.append(draw.choice(BEHIND))
            phrase()
        words.append(",")
    plural, subject = phrase(), len(words) - 1
    for _ in range(draw.choice((0, 1, 1, 2))):
        if draw.random() < 0.3:
            words.append("that")
            phrase()
            words.append(draw.choice(DID))
        else:
            words.append(draw.choice(BEHIND))
            phrase()
    attractors = tuple(place for place, other in nouns if other != plural)
    return Beginning(tuple(words), plural, subject, attractors)

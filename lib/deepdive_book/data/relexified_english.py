"""English in other letters: a second language that we know to be English.

Every word is written with the letters of another alphabet, one for one, so no word of one language
stands in the other, and each sentence has an exact translation. What two languages have in common
is then what we leave in common: their words (`shared`), and their order (`order`).

    greek = Disguise("Greek")
    greek("where is the station ?")          # "ωηερε ισ τηε στατιον ?"

Source: K et al. 2020, "Cross-Lingual Ability of Multilingual BERT", section 3.1, who move each
letter to a far place in Unicode ("Fake-English"); Dufter and Schütze 2020, section 2.1, who move
the numbers of the tokens.
"""

from __future__ import annotations

import random
import string
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from deepdive.data.errors import DataError

# 26 letters each, for a to z; where an alphabet has a letter of like sound, that one.
ALPHABETS = {
    "Greek": "αβχδεφγηιξκλμνοπθρστυϝωϟψζ",
    "Cyrillic": "абцдефгхийклмнопщрстувшжыз",
    "Armenian": "աբցդեֆգհիջկլմնոպքրստըվւխյզ",
    "Georgian": "აბცდეფგჰიჯკლმნოპქრსტუვწხყზ",
    "Devanagari": "अबचदएफगहइजकलमनओपखरसतउवधषयझ",
    "Katakana": "アバチダエフガハイジカラマナオパクリサタウヴワシヤザ",
    "Thai": "กขคฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผ",
}
ORDERS = ("kept", "reversed", "shuffled")


@dataclass(frozen=True)
class RelexifiedLanguage:
    """Text of words set apart by spaces -> the same in letters of `alphabet`.

    alphabet   one of `ALPHABETS`
    shared     words that stay as they are, in both languages
    order      "kept"; "reversed", the last word first; "shuffled": each sentence in an order of its
               own, drawn from its words and the `seed`

    What is no letter from a to z stays: digits, punctuation. Raises DataError for another alphabet
    or order.
    """

    alphabet: str = "Greek"
    shared: Collection[str] = frozenset()
    order: str = "kept"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, known in (
            ("alphabet", self.alphabet, tuple(ALPHABETS)),
            ("order", self.order, ORDERS),
        ):
            if value not in known:
                raise DataError(f"{name}: {value!r}, expected one of {', '.join(known)}")

    def __call__(self, text: str) -> str:
        words = text.split()
        return " ".join(self.word(words[i]) for i in self.places(words))

    def word(self, word: str) -> str:
        """Return one word in the other letters."""
        if word in self.shared:
            return word
        return word.translate(str.maketrans(string.ascii_lowercase, ALPHABETS[self.alphabet]))

    def places(self, words: Sequence[str]) -> list[int]:
        """Return which word stands at each place: its index in the sentence."""
        places = list(range(len(words)))
        if self.order == "reversed":
            places.reverse()
        if self.order == "shuffled":
            random.Random(f"{self.seed} {' '.join(words)}").shuffle(places)
        return places

"""Pairs of English sentences that say the same, or do not, with as many words in common.

Two English sentences with one French translation say the same (a pivot: Bannard and
Callison-Burch 2005). Real sentences, tatoeba_eng_fra; that they are paraphrases is our inference,
and "He is here" beside "It is here" (*Il est ici*) shows where it fails.
"""

import random
from collections import defaultdict
from collections.abc import Iterator

from deepdive.data.tasks import Pair, Split, word_overlap, words_of
from deepdive.data.text import pairs, shuffled, split_by

TRIES = 200  # sentences looked at for one with the same overlap
NEAR = 4  # characters by which the second sentences of a triple may differ in length
Links = dict[str, set[str]]
Index = dict[str, list[str]]


def paraphrases(seed: int = 0) -> Split[Pair]:
    """Rows (first, second, label), 1 = one French sentence stands for both; half are 1.

    Each first sentence comes twice in its part, with a paraphrase and with another sentence that
    has no French translation in common with either, so it alone tells nothing. Both seconds have
    the same `word_overlap` with it, to a tenth, and nearly the same length: nor does counting
    words. No sentence is in two triples.
    """
    triples = _triples(seed)
    parts = split_by(triples, fractions=(0.8, 0.2), seed=seed)
    return Split(*(shuffled([row for t in part for row in _rows(*t)], seed) for part in parts))


def _rows(first: str, same: str, other: str) -> tuple[Pair, Pair]:
    return Pair(first, same, 1), Pair(first, other, 0)


def _triples(seed: int) -> list[tuple[str, str, str]]:
    """(first, paraphrase, another with the same overlap) in a drawn order."""
    french, english = _links()
    holding = _index(french)
    used: set[str] = set()
    found = []
    draw = random.Random(f"paraphrases {seed}")
    for pivot in shuffled(sorted(text for text, both in english.items() if len(both) > 1), seed):
        first, same = draw.sample(sorted(english[pivot]), 2)
        if first in used or same in used or words_of(first) == words_of(same):
            continue
        known = french[first] | french[same]
        for other in _as_near(first, same, holding, draw):
            if other not in used and not french[other] & known:
                found.append((first, same, other))
                used |= {first, same, other}
                break
    return found


def _as_near(first: str, same: str, holding: Index, draw: random.Random) -> Iterator[str]:
    """Sentences as long as `same`, nearly, that overlap `first` as it does; TRIES looked at."""
    wanted = round(word_overlap(first, same), 1)
    words = sorted(words_of(first) & words_of(same)) or sorted(words_of(first))
    words.sort(key=lambda word: len(holding[word]))  # by the rarest word they share
    tries = TRIES
    for word in words:
        drawn = draw.sample(holding[word], min(tries, len(holding[word])))
        tries -= len(drawn)
        for text in drawn:
            alike = abs(len(text) - len(same)) <= NEAR
            if alike and round(word_overlap(first, text), 1) == wanted:
                yield text


def _links() -> tuple[Links, Links]:
    """English -> its French sentences, French -> its English ones."""
    french: Links = defaultdict(set)
    english: Links = defaultdict(set)
    for left, right in pairs("tatoeba_eng_fra", seed=None):
        french[left].add(right)
        english[right].add(left)
    return french, english


def _index(texts: Links) -> Index:
    """Word -> the sentences that hold it, in the order of the file."""
    found = defaultdict(list)
    for text in texts:
        for word in words_of(text):
            found[word].append(text)
    return found

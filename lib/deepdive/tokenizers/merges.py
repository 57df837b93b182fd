"""Learning the merges of adjacent tokens for BPE and WordPiece training.

A corpus is represented by its distinct words, each a list of tokens with a count. One step finds
the adjacent pair with the highest score and merges all its occurrences. Recounting all pairs after
each step would be simple but slow, so `Pairs` stores the words that contain each pair, and a step
costs only as much as the words that it changes.
"""

import heapq
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from deepdive.tokenizers.corpus import progress

T = TypeVar("T")
Pair = tuple[int, int]
Join = Callable[[str, str], str]


def merge_pair(pieces: Sequence[T], pair: tuple[T, T], merged: T) -> list[T]:
    """Return `pieces` with each occurrence of `pair`, left to right, replaced by `merged`."""
    out: list[T] = []
    i = 0
    while i < len(pieces):
        if i + 1 < len(pieces) and (pieces[i], pieces[i + 1]) == pair:
            out.append(merged)
            i += 2
        else:
            out.append(pieces[i])
            i += 1
    return out


class Pairs:
    """Counts of the adjacent token pairs in a corpus, updated incrementally by merges.

    words: the count of each word, a tuple of tokens. Tokens are numbered in order of creation: the
    initial ones sorted by code point, then the merged ones. `score` is the count (BPE).
    """

    def __init__(self, words: Mapping[tuple[str, ...], int], join: Join = operator.add) -> None:
        self.join = join
        self.pieces = sorted({piece for word in words for piece in word})
        self.number = {piece: i for i, piece in enumerate(self.pieces)}
        self.words = [[self.number[piece] for piece in word] for word in words]
        self.repeats = list(words.values())
        self.count: Counter[Pair] = Counter()
        self.where: defaultdict[Pair, set[int]] = defaultdict(set)  # pair -> words that contain it
        for w in range(len(self.words)):
            self._enter(w)

    def score(self, pair: Pair) -> float:
        """Return the score that the next merge maximizes; 0 for a pair that no longer occurs."""
        return self.count[pair]

    def merge(self, pair: Pair) -> set[Pair]:
        """Merge a pair in all words; return the pairs whose score may have changed."""
        merged = self.join(self.pieces[pair[0]], self.pieces[pair[1]])
        if merged not in self.number:  # different merges may form the same token
            self.number[merged] = len(self.pieces)
            self.pieces.append(merged)
        changed: set[Pair] = set()
        for w in list(self.where[pair]):
            changed.update(self._leave(w))
            self.words[w] = merge_pair(self.words[w], pair, self.number[merged])
            changed.update(self._enter(w))
        return changed

    def _enter(self, w: int) -> list[Pair]:
        pairs = list(pairwise(self.words[w]))
        for pair in pairs:
            self.count[pair] += self.repeats[w]
            self.where[pair].add(w)
        return pairs

    def _leave(self, w: int) -> list[Pair]:
        pairs = list(pairwise(self.words[w]))
        for pair in pairs:
            self.count[pair] -= self.repeats[w]
            self.where[pair].discard(w)
        return pairs


class LikelihoodPairs(Pairs):
    """Pairs scored by `count(a, b) / (count(a) * count(b))`, as in WordPiece training.

    Merging `a` and `b` lowers the counts of both, so every pair with either gets a new score.
    """

    def __init__(self, words: Mapping[tuple[str, ...], int], join: Join = operator.add) -> None:
        self.single: Counter[int] = Counter()
        self.touching: defaultdict[int, set[Pair]] = defaultdict(set)  # token -> pairs with it
        super().__init__(words, join)

    def score(self, pair: Pair) -> float:
        count = self.count[pair]
        return count / (self.single[pair[0]] * self.single[pair[1]]) if count else 0.0

    def merge(self, pair: Pair) -> set[Pair]:
        return super().merge(pair) | self.touching[pair[0]] | self.touching[pair[1]]

    def _enter(self, w: int) -> list[Pair]:
        for piece in self.words[w]:
            self.single[piece] += self.repeats[w]
        pairs = super()._enter(w)
        for pair in pairs:
            self.touching[pair[0]].add(pair)
            self.touching[pair[1]].add(pair)
        return pairs

    def _leave(self, w: int) -> list[Pair]:
        for piece in self.words[w]:
            self.single[piece] -= self.repeats[w]
        pairs = super()._leave(w)
        for pair in pairs:
            if not self.count[pair]:
                self.touching[pair[0]].discard(pair)
                self.touching[pair[1]].discard(pair)
        return pairs


def learn_merges(pairs: Pairs, min_count: int = 1) -> Iterator[tuple[str, str]]:
    """Yield the merges, best score first, while a pair occurs `min_count` times.

    Ties go to the pair with the earliest left token, then the earliest right token. So the result
    depends only on the counts, not on the order of the texts. The generator is lazy: only the
    merges taken are computed. Source: Sennrich et al. 2016, Algorithm 1.
    """
    # Each change of score pushes a new heap entry; outdated entries are skipped. A pair below
    # `min_count` is not pushed until its count changes.
    least = max(1, min_count)
    heap = [(-pairs.score(pair), pair) for pair, count in pairs.count.items() if count >= least]
    heapq.heapify(heap)
    while heap:
        score, pair = heapq.heappop(heap)
        if pairs.count[pair] < least or -score != pairs.score(pair):
            continue
        yield pairs.pieces[pair[0]], pairs.pieces[pair[1]]
        for changed in pairs.merge(pair):
            if pairs.count[changed] >= least:
                heapq.heappush(heap, (-pairs.score(changed), changed))


def learn_vocab(vocab: list[str], pairs: Pairs, size: int, min_count: int) -> list[tuple[str, str]]:
    """Append merged tokens to `vocab` until it has `size` tokens; return the merges."""
    merges: list[tuple[str, str]] = []
    known = set(pairs.pieces)
    for pair in progress(learn_merges(pairs, min_count), "merging", size - len(vocab)):
        if len(vocab) >= size:
            break
        merges.append(pair)
        piece = pairs.join(*pair)
        if piece not in known:
            known.add(piece)
            vocab.append(piece)
    return merges

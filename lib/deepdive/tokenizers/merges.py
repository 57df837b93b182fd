"""Learning which neighbouring pieces to merge: the heart of BPE and of WordPiece training.

A corpus is seen as its distinct words, each a list of pieces with a count. One step finds the pair
of neighbours with the highest score and merges it wherever it stands. Counting all pairs again
after each step would be simple and slow; `Pairs` instead knows for every pair the words that hold
it, so that a step costs only as much as the words that it changes.
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
    """`pieces` with each occurrence of `pair`, from left to right, replaced by `merged`."""
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
    """The neighbours in the words of a corpus, counted, and kept up to date as they merge.

    words: how often each word occurs, a word being a tuple of pieces. A piece's number is its age:
    the first pieces in order of their code points, then the merged ones as they come. `score` is
    the count (BPE).
    """

    def __init__(self, words: Mapping[tuple[str, ...], int], join: Join = operator.add) -> None:
        self.join = join
        self.pieces = sorted({piece for word in words for piece in word})
        self.number = {piece: i for i, piece in enumerate(self.pieces)}
        self.words = [[self.number[piece] for piece in word] for word in words]
        self.repeats = list(words.values())
        self.count: Counter[Pair] = Counter()
        self.where: defaultdict[Pair, set[int]] = defaultdict(set)  # pair -> words that hold it
        for w in range(len(self.words)):
            self._enter(w)

    def score(self, pair: Pair) -> float:
        """What the next merge maximises; 0 for a pair that occurs no more."""
        return self.count[pair]

    def merge(self, pair: Pair) -> set[Pair]:
        """Merge a pair in all words; returns the pairs whose score may have changed."""
        merged = self.join(self.pieces[pair[0]], self.pieces[pair[1]])
        if merged not in self.number:  # two ways may lead to one piece
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
    """Pairs scored by `count(a, b) / (count(a) * count(b))`, as WordPiece is trained.

    Merging `a` with `b` lowers the counts of both, so every pair that holds either is scored anew.
    """

    def __init__(self, words: Mapping[tuple[str, ...], int], join: Join = operator.add) -> None:
        self.single: Counter[int] = Counter()
        self.touching: defaultdict[int, set[Pair]] = defaultdict(set)  # piece -> pairs that hold it
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
    """The merges, best score first, for as long as a pair occurs `min_count` times.

    Ties go to the pair whose left piece is oldest, then to the one whose right piece is. So the
    result depends on the counts alone, not on the order of the texts. Take as many as you need:
    the work is done as they are taken. Source: Sennrich et al. 2016, Algorithm 1.
    """
    # Each change of score pushes a new entry; those that a later one has outdated are passed over.
    # A pair that is too rare is left out until its count changes, which pushes it again.
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
    """Append what the merges make to `vocab` until it holds `size` pieces; returns the merges."""
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

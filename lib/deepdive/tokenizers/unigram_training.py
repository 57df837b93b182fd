"""Training of a unigram vocabulary: EM and pruning from a large seed vocabulary.

    learn(words, size):
        tokens = every frequent substring, and every character
        until `size` are left:
            twice: expected count of each token, over all segmentations of all words   (E)
                   score = log of its fraction of all counts                           (M)
            drop the quarter of the tokens whose removal lowers the likelihood least

A segmentation's probability is the product of its tokens' probabilities; a word's, the sum over its
segmentations. That sum, of 2 ** (n - 1) terms, is computed by a forward and a backward pass:

    left[j]  = log of the sum over tokens p that end at j of exp(left[j - len(p)] + score[p])
    right[i] = the same from the other end
    a token from i to j has the expected count exp(left[i] + score[p] + right[j] - left[n])

`tokenizers` and SentencePiece differ in three ways: the M step has exp(digamma(count)), which
penalizes rare tokens; the loss counts only best segmentations; seeds come from a suffix array.

Source: Kudo 2018, "Subword Regularization", section 3.2.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from deepdive.tokenizers.corpus import progress

Scores = Mapping[str, float]
LEAST = 1e-6  # the minimum expected count of a character, so that every character is kept


class Expected(NamedTuple):
    """The expected count of each token (`uses`), and the log-likelihood of the words."""

    uses: dict[str, float]
    log_likelihood: float


def log_sum(values: list[float]) -> float:
    """Return log of the sum of exp(values); -inf for none."""
    top = max(values, default=-math.inf)
    return top if top == -math.inf else top + math.log(sum(math.exp(v - top) for v in values))


def totals(word: str, scores: Scores, longest: int) -> list[float]:
    """Return left: log p(word[:j]), summed over segmentations, for j from 0 to len(word)."""
    left = [0.0]
    for j in range(1, len(word) + 1):
        starts = range(max(0, j - longest), j)
        left.append(log_sum([left[i] + scores[p] for i in starts if (p := word[i:j]) in scores]))
    return left


def expect(words: Mapping[str, int], scores: Scores) -> Expected:
    """The E step: the expected count of each token over all segmentations of all words.

    words: word -> count. Raises ValueError for a word without a segmentation.
    """
    longest = max(map(len, scores))
    backward = {piece[::-1]: score for piece, score in scores.items()}
    uses: dict[str, float] = defaultdict(float)
    log_likelihood = 0.0
    for word, count in words.items():
        n = len(word)
        left = totals(word, scores, longest)
        if left[n] == -math.inf:
            raise ValueError(f"words: no tokens spell {word!r}; every character must be a token")
        right = totals(word[::-1], backward, longest)[::-1]
        log_likelihood += count * left[n]
        for i in range(n):
            for j in range(i + 1, min(n, i + longest) + 1):
                if (piece := word[i:j]) in scores:
                    use = math.exp(left[i] + scores[piece] + right[j] - left[n])
                    uses[piece] += count * use
    return Expected(uses, log_likelihood)


def maximize(uses: Mapping[str, float]) -> dict[str, float]:
    """The M step: score = log(count / all counts). Drop unused tokens, but no characters."""
    kept = {p: max(n, LEAST) for p, n in uses.items() if n > LEAST or len(p) == 1}
    total = sum(kept.values())
    return {piece: math.log(n / total) for piece, n in kept.items()}


def losses(uses: Mapping[str, float], scores: Scores) -> dict[str, float]:
    """Return the approximate loss of log-likelihood without each token: its count times (its score
    - the score of its best segmentation into others). Characters are always kept, so not included.
    """
    longest, found = max(map(len, scores)), {}
    for piece in scores:
        if len(piece) > 1:
            best = [0.0] + [-math.inf] * len(piece)
            for j in range(1, len(piece) + 1):
                for i in range(max(0, j - longest), j):
                    part = piece[i:j]
                    if part != piece and part in scores:
                        best[j] = max(best[j], best[i] + scores[part])
            found[piece] = uses.get(piece, 0.0) * (scores[piece] - best[-1])
    return found


def seeds(words: Mapping[str, int], size: int, longest: int) -> dict[str, float]:
    """Return the seed vocabulary with scores: every character, and the `size` substrings with the
    largest count * length, of those that occur at least twice.
    """
    times: Counter[str] = Counter()
    for word, count in words.items():
        for i in range(len(word)):
            for j in range(i + 1, min(len(word), i + longest) + 1):
                times[word[i:j]] += count
    parts = [piece for piece, n in times.items() if len(piece) > 1 and n > 1]
    parts.sort(key=lambda piece: (-times[piece] * len(piece), piece))
    characters = [piece for piece in times if len(piece) == 1]
    return maximize({piece: times[piece] * len(piece) for piece in [*characters, *parts[:size]]})


def learn(
    words: Mapping[str, int], size: int, *, longest: int = 16, keep: float = 0.75, steps: int = 2
) -> dict[str, float]:
    """Return at most `size` tokens with scores, most probable first, including all characters.

    longest   the maximum number of characters in a token
    keep      the fraction of tokens kept in each round
    steps     E and M steps per round

    Raises ValueError if there are more than `size` characters.
    """
    words = dict(sorted(words.items()))  # float sums, and therefore ties, depend on the order
    characters = sorted({char for word in words for char in word})
    if len(characters) > size:
        raise ValueError(f"size={size}: the words have {len(characters)} characters already")
    scores = seeds(words, 10 * size, longest)
    more = max(size + size // 10, len(characters))  # the last E step also drops unused tokens
    rounds = 1 + max(0, math.ceil(math.log(more / len(scores)) / math.log(keep)))
    for _ in progress(range(rounds), "dropping pieces"):
        scores, uses = improve(words, scores, steps)
        lost = losses(uses, scores)
        room = max(more - len(characters), math.floor(keep * len(lost)))
        stay = sorted(lost, key=lambda piece: (-lost[piece], piece))[:room]
        scores = {piece: scores[piece] for piece in [*characters, *stay]}
    scores, _ = improve(words, scores, steps)
    order = sorted(scores, key=lambda piece: (len(piece) > 1, -scores[piece], piece))
    final = order[: max(size, len(characters))]
    return {piece: scores[piece] for piece in sorted(final, key=lambda p: (-scores[p], p))}


def improve(
    words: Mapping[str, int], scores: Scores, steps: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Repeat the E and M steps `steps` times; return (scores, the last expected counts)."""
    uses: dict[str, float] = {}
    for _ in range(steps):
        uses = expect(words, scores).uses
        scores = maximize({piece: uses.get(piece, 0.0) for piece in scores})
    return dict(scores), uses

"""BART's five noising functions: the encoder reads the corrupted text, the decoder reconstructs it.

Texts are lists of tokens without special tokens; `draws` is the source of randomness.
"""

import math
import random
from collections.abc import Sequence
from itertools import chain


def check_rate(rate: float) -> None:
    """Raise ValueError for a rate that is not a probability."""
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate: got {rate}, expected a probability from 0 to 1")


def mask_each(tokens: Sequence[int], mask: int, rate: float, draws: random.Random) -> list[int]:
    """**Token masking**: replace each token by the mask with probability `rate`.

    Source: Devlin et al. 2019, as Lewis et al. 2020, section 2.2 have it.
    """
    check_rate(rate)
    return [mask if draws.random() < rate else token for token in tokens]


def delete_each(tokens: Sequence[int], rate: float, draws: random.Random) -> list[int]:
    """**Token deletion**: delete each token with probability `rate`, without a trace of where.

    Source: Lewis et al. 2020, section 2.2.
    """
    check_rate(rate)
    return [token for token in tokens if draws.random() >= rate]


def infill(
    tokens: Sequence[int], mask: int, rate: float, draws: random.Random, mean: float = 3.0
) -> list[int]:
    """**Text infilling**: replace each span of Poisson(`mean`) tokens by one mask, so the number of
    missing tokens must be predicted too. An empty span inserts a mask where nothing is missing.

    Lengths are sampled until the spans have `rate` of the tokens, rounded, the last one truncated;
    then each order of spans and remaining tokens is equally probable.

    Source: Lewis et al. 2020, section 2.2 (0.3 of the tokens, section 5.1; mean 3).
    """
    check_rate(rate)
    left, lengths = round(rate * len(tokens)), []
    while left > 0:
        lengths.append(min(poisson(mean, draws), left))
        left -= lengths[-1]
    length = len(tokens) - sum(lengths) + len(lengths)
    masked = iter(zip(sorted(draws.sample(range(length), len(lengths))), lengths, strict=True))
    found, at, now = [], 0, next(masked, None)
    for position in range(length):
        if now is not None and now[0] == position:
            found.append(mask)
            at += now[1]
            now = next(masked, None)
        else:
            found.append(tokens[at])
            at += 1
    return found


def poisson(mean: float, draws: random.Random) -> int:
    """Return a number sampled with P(n) = mean^n e^-mean / n!, from one uniform sample.

    Raises ValueError for a mean that is not above 0.
    """
    if not mean > 0:
        raise ValueError(f"mean: got {mean}, expected a number above 0")
    left, n, here = draws.random(), 0, math.exp(-mean)
    while left >= here and here > 0:
        left, n = left - here, n + 1
        here *= mean / n
    return n


def permute_sentences(sentences: Sequence[Sequence[int]], draws: random.Random) -> list[int]:
    """**Sentence permutation**: shuffle whole sentences.

    Source: Lewis et al. 2020, section 2.2.
    """
    return [*chain.from_iterable(draws.sample(sentences, len(sentences)))]


def rotate(tokens: Sequence[int], draws: random.Random) -> list[int]:
    """**Document rotation**: start the text at a random token, and move what preceded it to the
    end.

    Source: Lewis et al. 2020, section 2.2.
    """
    start = draws.randrange(len(tokens)) if tokens else 0
    return [*tokens[start:], *tokens[:start]]

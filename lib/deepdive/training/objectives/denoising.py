"""The five ways in which BART damages a text: what is left is read, and the text is written.

Texts are lists of tokens without marks at their ends; `draws` is where chance comes from.
"""

import math
import random
from collections.abc import Sequence
from itertools import chain


def check_rate(rate: float) -> None:
    """Raise ValueError for a rate that is no probability."""
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate: came as {rate}, expected a probability from 0 to 1")


def mask_each(tokens: Sequence[int], mask: int, rate: float, draws: random.Random) -> list[int]:
    """**Token masking**: each token, with probability `rate`, gives way to the mask.

    Source: Devlin et al. 2019, as Lewis et al. 2020, section 2.2 have it.
    """
    check_rate(rate)
    return [mask if draws.random() < rate else token for token in tokens]


def delete_each(tokens: Sequence[int], rate: float, draws: random.Random) -> list[int]:
    """**Token deletion**: each token goes with probability `rate`; nothing says where it stood.

    Source: Lewis et al. 2020, section 2.2.
    """
    check_rate(rate)
    return [token for token in tokens if draws.random() >= rate]


def infill(
    tokens: Sequence[int], mask: int, rate: float, draws: random.Random, mean: float = 3.0
) -> list[int]:
    """**Text infilling**: spans of Poisson(`mean`) tokens give way to one mask each, so that how
    many are missing has to be found out too. A span of no token is a mask where nothing is missing.

    Lengths are drawn until the spans have `rate` of the tokens, rounded, the last one cut; then
    each order of spans and remaining tokens is as probable as any other.

    Source: Lewis et al. 2020, section 2.2 (0.3 of the tokens, section 5.1; mean 3).
    """
    check_rate(rate)
    left, lengths = round(rate * len(tokens)), []
    while left > 0:
        lengths.append(min(poisson(mean, draws), left))
        left -= lengths[-1]
    places = len(tokens) - sum(lengths) + len(lengths)
    masked = iter(zip(sorted(draws.sample(range(places), len(lengths))), lengths, strict=True))
    found, at, now = [], 0, next(masked, None)
    for place in range(places):
        if now is not None and now[0] == place:
            found.append(mask)
            at += now[1]
            now = next(masked, None)
        else:
            found.append(tokens[at])
            at += 1
    return found


def poisson(mean: float, draws: random.Random) -> int:
    """Return a number drawn with P(n) = mean^n e^-mean / n!, from one uniform draw.

    Raises ValueError for a mean that is not above 0.
    """
    if not mean > 0:
        raise ValueError(f"mean: came as {mean}, expected a number above 0")
    left, n, here = draws.random(), 0, math.exp(-mean)
    while left >= here and here > 0:
        left, n = left - here, n + 1
        here *= mean / n
    return n


def permute_sentences(sentences: Sequence[Sequence[int]], draws: random.Random) -> list[int]:
    """**Sentence permutation**: whole sentences, in any order.

    Source: Lewis et al. 2020, section 2.2.
    """
    return [*chain.from_iterable(draws.sample(sentences, len(sentences)))]


def rotate(tokens: Sequence[int], draws: random.Random) -> list[int]:
    """**Document rotation**: the text begins at any of its tokens, and what stood before that one
    comes last.

    Source: Lewis et al. 2020, section 2.2.
    """
    start = draws.randrange(len(tokens)) if tokens else 0
    return [*tokens[start:], *tokens[:start]]

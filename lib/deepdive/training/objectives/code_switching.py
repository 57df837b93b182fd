"""ALM: alternating language modeling, on sentences code-switched by phrases.
Yang et al. 2020, "Alternating Language Modeling for Cross-Lingual Pre-Training".

    every | cat | sleeps   and   chaque | chat | dort    become    every | chat | sleeps

System: alm
Parent: xlm
What differs:
- the translation is not concatenated: phrases of the sentence are replaced by their translations,
  so words of both languages are neighbors (`code_switch`)
- phrase pairs are extracted from a word alignment (`phrase_pairs`)
- the mixed sentence is masked like any other (`deepdive.training.objectives.mask_tokens`)
Source: Yang et al. 2020, section "Alternating Language Modeling".
Book: 4.1.2.4
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch


class Phrase(NamedTuple):
    """A phrase pair: tokens [a, b) of the source, [c, d) of the target."""

    a: int
    b: int
    c: int
    d: int


def phrase_pairs(
    links: Iterable[tuple[int, int]], n_source: int, n_target: int, longest: int = 4
) -> list[Phrase]:
    """Return the phrases consistent with a word alignment, shortest first: [a, b) and [c, d) where

        a link leads from a word of one into the other,
        no link leads from a word of either out of the other,
        neither is longer than `longest`.

    links: (i, j), source word i is aligned with target word j. Unaligned words may be inside a
    phrase, but not at its ends. Raises ValueError for a link
    that leads outside a sentence.

    Source: Koehn et al. 2003, section 2, on whose phrase tables Yang et al. rely.
    """
    links = sorted(set(links))
    for i, j in links:
        if not (0 <= i < n_source and 0 <= j < n_target):
            raise ValueError(f"links: ({i}, {j}) is outside {n_source} and {n_target} words")
    found = []
    for a in range(n_source):
        for b in range(a + 1, min(a + longest, n_source) + 1):
            inside = [j for i, j in links if a <= i < b]
            if not inside:
                continue
            c, d = min(inside), max(inside) + 1
            ends = {i for i, _ in links}
            back = all(a <= i < b for i, j in links if c <= j < d)
            if back and d - c <= longest and a in ends and b - 1 in ends:
                found.append(Phrase(a, b, c, d))
    return sorted(found, key=lambda one: (one.b - one.a, one))


def code_switch(
    source: Sequence[int],
    target: Sequence[int],
    phrases: Sequence[Phrase],
    ratio: float = 0.3,
    draw: torch.Generator | None = None,
) -> tuple[list[int], list[bool]]:
    """Replace phrases of the sentence by their translations.

    Phrases are tried in random order; one is used if it overlaps none used before, and while at
    most a fraction `ratio` of the source's tokens is replaced. Returns the tokens, and for each
    whether it came from the target. With ratio 0 it is the source. For a sample mostly in the
    target language, exchange source and target, and a, b with c, d of each phrase.

    Raises ValueError for a ratio outside 0 to 1 or a phrase that is empty or outside a sentence.

    Source: Yang et al. 2020. The section was not at hand: the bound on the replaced fraction, 0.3,
    is given as remembered.
    """
    if not 0 <= ratio <= 1:
        raise ValueError(f"ratio: got {ratio}, expected a fraction from 0 to 1")
    for one in phrases:
        if not (0 <= one.a < one.b <= len(source) and 0 <= one.c < one.d <= len(target)):
            raise ValueError(
                f"phrases: {one} is empty, or outside {len(source)} and {len(target)} tokens"
            )
    order = torch.randperm(len(phrases), generator=draw).tolist()
    taken: list[Phrase] = []
    left = ratio * len(source) + 1e-9
    for one in (phrases[i] for i in order):
        free = all(one.b <= other.a or other.b <= one.a for other in taken)
        if free and one.b - one.a <= left:
            taken.append(one)
            left -= one.b - one.a
    tokens: list[int] = []
    foreign: list[bool] = []
    at = 0
    for one in [*sorted(taken), Phrase(len(source), len(source), 0, 0)]:
        for span, other in ((source[at : one.a], False), (target[one.c : one.d], True)):
            tokens += span
            foreign += [other] * len(span)
        at = one.b
    return tokens, foreign

"""Counterfactuals: the fewest words that, written otherwise, change the decision.

An explanation by what would have to be different: *not good* is no because of *not*, for *very
good* is yes. The same search, told to fool the model with words that mean the same, makes
adversarial examples.

    choices = candidates(tokens, among=range(1, 100))        # each place, each word
    found = greedy(score, tokens, choices)                   # or `smallest`, over all changes

The fewest changes are sought: by size over all of them (`smallest`), or the best single change
again and again (`greedy`). A gradient can say which words are worth trying (`hotflip`).

Source: Wachter, Mittelstadt and Russell 2018 (the nearest input with another decision); Martens and
Provost 2014 (the fewest words).
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, product

import torch
from torch import Tensor

from deepdive.explain.games.removal import Score

Choices = Sequence[Sequence[int]]


def candidates(tokens: Tensor, among: Iterable[int]) -> list[list[int]]:
    """Return, for each place of a text (S,), the words of `among` other than the one there.

    Give a place an empty list, and it is left as it is: `choices[0] = []` for [CLS].
    """
    words = list(among)
    return [[word for word in words if word != own] for own in tokens.tolist()]


def smallest(
    score: Score,
    tokens: Tensor,
    choices: Choices,
    threshold: float = 0.0,
    *,
    most: int = 2,
    batch: int = 256,
) -> Tensor | None:
    """Return a text (S,) with the fewest changed words whose decision is another, or None.

    The decision is  score(text) > threshold.  All texts with one change are scored, then all with
    two, up to `most`; of a size's, the one furthest past the threshold is returned. Costs
    C(S, k) V^k texts at size k for V words a place: only for small cases, where it is exact.
    Raises ValueError when choices are not one list a place.
    """
    side = _side(score, tokens, choices, threshold)
    for size in range(1, most + 1):
        texts = [
            _changed(tokens, zip(places, words, strict=True))
            for places in combinations(range(len(tokens)), size)
            for words in product(*(choices[place] for place in places))
        ]
        found = _furthest(score, texts, side, threshold, batch)
        if found is not None and found[1] <= 0:
            return found[0]
    return None


def greedy(
    score: Score,
    tokens: Tensor,
    choices: Choices,
    threshold: float = 0.0,
    *,
    most: int | None = None,
    batch: int = 256,
) -> Tensor | None:
    """Return a text (S,) whose decision is another, one best change after another, or None.

    At each step every single change at a place not yet changed is scored, and the one that goes
    furthest towards the other decision is kept; at the end, a change that is not needed is taken
    back. Costs S V texts a step. It may change more words than `smallest`, or find none, where two
    changes count only together.
    Raises ValueError when choices are not one list a place.
    """
    side = _side(score, tokens, choices, threshold)
    text = tokens
    for _ in range(len(tokens) if most is None else most):
        places = (text == tokens).nonzero().flatten().tolist()
        texts = [_changed(text, [(s, word)]) for s in places for word in choices[s]]
        found = _furthest(score, texts, side, threshold, batch)
        if found is None:
            return None
        text, margin = found
        if margin <= 0:
            return _without_needless(score, tokens, text, side, threshold)
    return None


def _side(score: Score, tokens: Tensor, choices: Choices, threshold: float) -> float:
    if tokens.ndim != 1 or len(choices) != len(tokens):
        raise ValueError(
            f"choices must be one list of words for each place of one text (S,); got "
            f"{len(choices)} lists for tokens of shape {tuple(tokens.shape)}"
        )
    with torch.no_grad():
        return 1.0 if bool(score(tokens[None])[0] > threshold) else -1.0


def _changed(tokens: Tensor, changes: Iterable[tuple[int, int]]) -> Tensor:
    text = tokens.clone()
    for place, word in changes:
        text[place] = word
    return text


def _furthest(
    score: Score, texts: list[Tensor], side: float, threshold: float, batch: int
) -> tuple[Tensor, float] | None:
    """The text that is furthest past the threshold, and its margin: 0 or less has turned."""
    if not texts:
        return None
    with torch.no_grad():
        parts = torch.stack(texts).split(batch)
        margins = side * (torch.cat([score(part) for part in parts]) - threshold)
    if side < 0:  # a no turns only above the threshold, not at it
        margins = margins.where(margins != 0, torch.finfo(margins.dtype).tiny)
    best = int(margins.argmin())
    return texts[best], float(margins[best])


def _without_needless(
    score: Score, tokens: Tensor, text: Tensor, side: float, threshold: float
) -> Tensor:
    """Take changes back, one after another, while the decision stays turned."""
    while True:
        places = (text != tokens).nonzero().flatten().tolist()
        fewer = [_changed(text, [(s, int(tokens[s]))]) for s in places]
        found = _furthest(score, fewer, side, threshold, len(fewer)) if len(fewer) > 1 else None
        if found is None or found[1] > 0:
            return text
        text = found[0]

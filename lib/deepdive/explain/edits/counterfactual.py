"""Counterfactuals: the fewest word substitutions that change the decision.

They explain by what would have to be different: *not good* is classified no because of *not*, since
*very good* is yes. The same search, restricted to words of the same meaning, finds adversarial
examples.

    choices = candidates(tokens, among=range(1, 100))        # each position, each word
    found = greedy(score, tokens, choices)                   # or `smallest`, over all changes

The search is exhaustive, by number of changes (`smallest`), or repeats the best single change
(`greedy`). A gradient can select the words worth trying (`hotflip`).

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
    """Return, for each position of a text (S,), the words of `among` except the current one.

    A position with an empty list is not changed: `choices[0] = []` for [CLS].
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
    """Return a text (S,) with the fewest changed words that has another decision, or None.

    The decision is  score(text) > threshold.  All texts with one change are scored, then all with
    two, up to `most`; among those of equal size, the one furthest past the threshold is returned.
    Costs C(S, k) V^k texts at size k for V words per position: exact, but only for small cases.
    Raises ValueError when choices are not one list per position.
    """
    side = _side(score, tokens, choices, threshold)
    for size in range(1, most + 1):
        texts = [
            _changed(tokens, zip(positions, words, strict=True))
            for positions in combinations(range(len(tokens)), size)
            for words in product(*(choices[position] for position in positions))
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
    """Return a text (S,) with another decision, found by greedy single changes, or None.

    Each step scores every single change at the unchanged positions and keeps the one that moves
    furthest towards the other decision; at the end, unnecessary changes are reverted. Costs S V
    texts per step. Where two changes count only together, it may change more words than `smallest`,
    or find none.
    Raises ValueError when choices are not one list per position.
    """
    side = _side(score, tokens, choices, threshold)
    text = tokens
    for _ in range(len(tokens) if most is None else most):
        positions = (text == tokens).nonzero().flatten().tolist()
        texts = [_changed(text, [(s, word)]) for s in positions for word in choices[s]]
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
            f"choices: got {len(choices)} lists for tokens of shape {tuple(tokens.shape)}, "
            "expected one list of words per position of one text (S,)"
        )
    with torch.no_grad():
        return 1.0 if bool(score(tokens[None])[0] > threshold) else -1.0


def _changed(tokens: Tensor, changes: Iterable[tuple[int, int]]) -> Tensor:
    text = tokens.clone()
    for position, word in changes:
        text[position] = word
    return text


def _furthest(
    score: Score, texts: list[Tensor], side: float, threshold: float, batch: int
) -> tuple[Tensor, float] | None:
    """The text furthest past the threshold, and its margin: the decision flips at 0 or less."""
    if not texts:
        return None
    with torch.no_grad():
        parts = torch.stack(texts).split(batch)
        margins = side * (torch.cat([score(part) for part in parts]) - threshold)
    if side < 0:  # a no flips only above the threshold, not at it
        margins = margins.where(margins != 0, torch.finfo(margins.dtype).tiny)
    best = int(margins.argmin())
    return texts[best], float(margins[best])


def _without_needless(
    score: Score, tokens: Tensor, text: Tensor, side: float, threshold: float
) -> Tensor:
    """Revert changes one after another, as long as the decision stays flipped."""
    while True:
        positions = (text != tokens).nonzero().flatten().tolist()
        fewer = [_changed(text, [(s, int(tokens[s]))]) for s in positions]
        found = _furthest(score, fewer, side, threshold, len(fewer)) if len(fewer) > 1 else None
        if found is None or found[1] > 0:
            return text
        text = found[0]

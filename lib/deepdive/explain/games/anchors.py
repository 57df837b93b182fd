"""Anchors: a few words that fix the prediction, whatever happens to the others.

A set of features A is an anchor if, with A kept and every other feature kept with probability 1/2,
the prediction stays the same with probability of at least `precision`.

Unlike LIME it is a rule, not weights, with explicit coverage and precision. Rules grow by one
feature at a time in a beam search; the best ones are found with few samples, by confidence bounds
on the precision of each (`bounds`; KL-LUCB). The shorter a rule, the more texts it covers, so the
search stops at the first size that has an anchor.

Source: Ribeiro, Singh and Guestrin 2018; Kaufmann and Kalyanakrishnan 2013,
for KL-LUCB.
"""

from dataclasses import dataclass
from math import log

import torch
from torch import Tensor

from deepdive.core.checks import as_int, positive
from deepdive.explain.games.game import Game, all_coalitions


@dataclass(frozen=True)
class Anchor:
    """A rule, its estimated precision, and its confidence bound.

    parts        the features to keep, bool (S,)
    precision    the fraction of the `texts` sampled texts with the same prediction
    low          a lower bound on the true precision, wrong with probability below 1 - confidence
    found        whether `low` reaches the requested precision; if not, this is the best rule found
    """

    parts: Tensor
    precision: float
    low: float
    texts: int
    found: bool

    @property
    def coverage(self) -> float:
        """The fraction of all perturbed texts that contain the rule's features: 2^-|A|."""
        return 0.5 ** int(self.parts.sum())


def exact_precision(game: Game, parts: Tensor, threshold: float = 0.0) -> float:
    """Return the exact precision of a rule, over all perturbed texts that keep it (S up to 20)."""
    kept = all_coalitions(game.size)
    kept = kept[(kept | ~parts).all(1)]
    same = (game(kept) > threshold) == (game.everything() > threshold)
    return float(same.double().mean())


class _Rule:
    """A candidate rule, its sample count, and how often the prediction stayed the same."""

    def __init__(self, parts: Tensor) -> None:
        self.parts, self.count, self.same = parts, 0, 0

    @property
    def share(self) -> float:
        return self.same / self.count if self.count else 0.0


class _Search:
    def __init__(self, game: Game, threshold: float, batch: int, seed: int) -> None:
        self.game, self.threshold, self.batch = game, threshold, batch
        self.draw = torch.Generator().manual_seed(as_int("seed", seed))
        self.decided = game.everything() > threshold

    def tries(self, *rules: _Rule) -> None:
        """Sample `batch` more texts per rule: keep its features, others with probability 1/2."""
        coins = torch.rand(len(rules), self.batch, self.game.size, generator=self.draw) < 0.5
        numbers = self.game(coins | torch.stack([rule.parts for rule in rules])[:, None])
        same = ((numbers > self.threshold) == self.decided).sum(1)
        for rule, found in zip(rules, same.tolist(), strict=True):
            rule.count, rule.same = rule.count + self.batch, rule.same + found

    def best(self, rules: list[_Rule], beam: int, chance: float, apart: float) -> list[_Rule]:
        """The top `beam` rules by precision, within `apart`, with error probability `chance`.

        KL-LUCB samples the best rule outside and the worst inside until their bounds separate.
        """
        self.tries(*rules)
        for step in range(1, 1000):
            rules.sort(key=lambda rule: -rule.share)
            if len(rules) <= beam:
                break
            term = log(405.5 * len(rules) * step**1.1 / chance)
            level = term + log(term)  # Kaufmann and Kalyanakrishnan 2013
            low = [bounds(rule.share, rule.count, level)[0] for rule in rules[:beam]]
            high = [bounds(rule.share, rule.count, level)[1] for rule in rules[beam:]]
            if max(high) - min(low) < apart:
                break
            self.tries(rules[low.index(min(low))], rules[beam + high.index(max(high))])
        return rules[:beam]


def anchor(
    game: Game,
    threshold: float = 0.0,
    *,
    precision: float = 0.95,
    confidence: float = 0.95,
    tolerance: float = 0.05,
    apart: float = 0.15,
    beam: int = 4,
    batch: int = 100,
    seed: int = 0,
) -> Anchor:
    """Return the shortest anchor found for the prediction  game(kept) > threshold.

    precision     how often the prediction must stay the same
    confidence    confidence level of the lower bound, which must reach precision - tolerance
    apart         precisions that differ by less than this are not distinguished: a fifth of it
                  needs 25 times as many samples
    beam          how many rules of each size are extended
    batch         how many texts are sampled for a rule at a time

    Returns the rule of the largest precision, with found=False, if none reaches it.
    Source: Ribeiro, Singh and Guestrin 2018.
    """
    positive(beam=beam, batch=batch)
    for name, value in (("precision", precision), ("confidence", confidence)):
        if not 0 < value < 1:
            raise ValueError(f"{name}={value}: expected a number between 0 and 1")
    for name, value in (("tolerance", tolerance), ("apart", apart)):
        if not 0 < value < precision:
            raise ValueError(f"{name}={value}: expected a number between 0 and precision")
    search = _Search(game, threshold, batch, seed)
    chance = (1 - confidence) / (1 + (beam - 1) * game.size)
    grown = [torch.zeros(game.size, dtype=torch.bool)]
    best: _Rule | None = None
    for size in range(game.size + 1):
        kept = search.best([_Rule(parts) for parts in grown], beam, chance, apart)
        for rule in kept:
            low, high = bounds(rule.share, rule.count, log(1 / chance))
            while (rule.share >= precision and low < precision - tolerance) or (
                rule.share < precision and high >= precision + tolerance
            ):
                search.tries(rule)
                low, high = bounds(rule.share, rule.count, log(1 / chance))
            if rule.share >= precision and low >= precision - tolerance:
                return Anchor(rule.parts, rule.share, low, rule.count, True)
            if best is None or rule.share > best.share:
                best = rule
        if size < game.size:
            stacked = torch.stack([rule.parts for rule in kept])
            larger = stacked[:, None] | torch.eye(game.size, dtype=torch.bool)
            grown = list(larger[~stacked].unique(dim=0))
    assert best is not None
    low = bounds(best.share, best.count, log(1 / chance))[0]
    return Anchor(best.parts, best.share, low, best.count, False)


def bounds(share: float, count: int, level: float) -> tuple[float, float]:
    """Return the least and the largest q with  count KL(share || q) <= level, by bisection:

        KL(p || q) = p log(p / q) + (1 - p) log((1 - p) / (1 - q))

    They contain the true probability, except with probability about exp(-level) on either side.
    Source: Kaufmann and Kalyanakrishnan 2013.
    """

    def edge(outside: float) -> float:
        inside = share
        for _ in range(40):
            middle = (inside + outside) / 2
            if count * _divergence(share, middle) <= level:
                inside = middle
            else:
                outside = middle
        return inside

    return (edge(0.0), edge(1.0)) if count else (0.0, 1.0)


def _divergence(p: float, q: float) -> float:
    """KL(p || q) of two Bernoulli distributions; infinite if q excludes an outcome of p."""
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            if b <= 0:
                return float("inf")
            total += a * log(a / b)
    return total

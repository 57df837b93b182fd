"""Bias audit: counterfactual name swaps, and fairness metrics by group.

    texts = pairs(["{} of the north office was quick ."], {"anna": "otto"})    # [(text, twin)]
    gaps = [hired(other) - hired(own) for own, other in texts]                 # 0: no difference
    counts = rates(said, able, woman)
    equal_opportunity(counts)                                                  # 0: no difference

Two separate questions: whether the model uses the name (`pairs`), and how its decisions differ
between groups (`rates`), whatever word causes them.

System: bias_privacy
Parent: none
What differs:
- the same text is classified twice, the second time with another group's words (`pairs`, `swapped`)
- decisions are compared with the labels by group (`rates`), and three differences are taken
  (`demographic_parity`, `equal_opportunity`, `equalized_odds`)
- mitigation: data augmentation (`swapped`), reweighing (`balanced`), a `threshold` per group
- a planted secret (canary) is ranked among all candidates
  (`deepdive.explain.audits.extraction.exposure`)
Source: Kusner et al. 2017; Hardt et al. 2016, section 2; Kamiran and Calders 2012, section 5;
    Carlini et al. 2019, section 4.
Book: KAIST deck 3
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Rates(NamedTuple):
    """One group's selection rate, true positive rate, and false positive rate."""

    chosen: float
    hits: float
    false: float


def swapped(text: str, twins: Mapping[str, str]) -> str:
    """Return the text with each word of `twins` replaced by its counterpart, in both directions."""
    both = {**{b: a for a, b in twins.items()}, **twins}
    return " ".join(both.get(word, word) for word in text.split())


def pairs(templates: Iterable[str], twins: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (text, counterpart) for each template and word pair; `{}` is the word's slot.

    Raises ValueError for a template without `{}`.
    """
    found = []
    for template in templates:
        if "{}" not in template:
            raise ValueError(f"template: got {template!r}, expected {{}} in place of the name")
        found += [(template.replace("{}", a), template.replace("{}", b)) for a, b in twins.items()]
    return found


def rates(said: Sequence[int], true: Sequence[int], groups: Sequence[int]) -> dict[int, Rates]:
    """Return group -> Rates for predictions, labels (0 or 1) and groups, each (N,).

        chosen = P(said = 1 | group),  hits = P(said = 1 | true = 1, group),
        false = P(said = 1 | true = 0, group)

    Raises ValueError if they differ in length, or a group lacks positive or negative labels.
    """
    if not len(said) == len(true) == len(groups):
        raise ValueError(
            f"got {len(said)}, {len(true)} and {len(groups)} values, expected equal counts"
        )
    counts = Counter(zip(groups, true, said, strict=True))
    found = {}
    for group in sorted({*groups}):
        (tn, fp), (fn, tp) = [[counts[group, t, s] for s in (0, 1)] for t in (0, 1)]
        if not tn + fp or not fn + tp:
            raise ValueError(f"group {group}: expected labels of both classes to compute rates")
        chosen = (tp + fp) / (tn + fp + fn + tp)
        found[group] = Rates(chosen, tp / (fn + tp), fp / (tn + fp))
    return found


def demographic_parity(counts: Mapping[int, Rates]) -> float:
    """The largest selection rate of a group, minus the smallest."""
    return _range(each.chosen for each in counts.values())


def equal_opportunity(counts: Mapping[int, Rates]) -> float:
    """The same for true positive rates. Source: Hardt et al. 2016, definition 2.2."""
    return _range(each.hits for each in counts.values())


def equalized_odds(counts: Mapping[int, Rates]) -> float:
    """The larger difference of true positive rates and false positive rates. As in fairlearn."""
    return max(equal_opportunity(counts), _range(each.false for each in counts.values()))


def _range(values: Iterable[float]) -> float:
    all_of_them = list(values)
    return max(all_of_them) - min(all_of_them)


def balanced(labels: Sequence[int], groups: Sequence[int]) -> Tensor:
    """Return a weight per text, (N,), under which label and group are independent.

        w[n] = P(group) P(label) / P(group, label)       the mean of all is 1

    Source: Kamiran and Calders 2012, section 5.1 (reweighing). Raises ValueError for empty input,
    or if the lengths differ.
    """
    if not labels or len(labels) != len(groups):
        raise ValueError(
            f"got {len(labels)} labels and {len(groups)} groups, expected equal counts"
        )
    of_label, of_group = Counter(labels), Counter(groups)
    both, n = Counter(zip(groups, labels, strict=True)), len(labels)
    each = zip(groups, labels, strict=True)
    return torch.tensor([of_group[g] * of_label[y] / (n * both[g, y]) for g, y in each])


def threshold(scores: Tensor, true: Tensor, rate: float) -> float:
    """Return the highest threshold with a true positive rate of at least `rate`
    (score >= threshold). scores, true: (N,). One threshold per group equalizes their rates.

    Source: Hardt et al. 2016, section 3. Raises ValueError if no label is positive, or for a rate
    that is not above 0 and at most 1.
    """
    pos = scores[true.bool()].sort(descending=True).values
    if not len(pos) or not 0 < rate <= 1:
        raise ValueError(f"got {len(pos)} positives and rate={rate}, expected 1 or more, (0, 1]")
    return float(pos[math.ceil(rate * len(pos) - 1e-9) - 1])

"""A bias audit: the same text with another name, and decisions counted by group.

    texts = pairs(["{} of the north office was quick ."], {"anna": "otto"})    # [(text, twin)]
    gaps = [hired(other) - hired(own) for own, other in texts]                 # 0: no difference
    counts = rates(said, able, woman)
    equal_opportunity(counts)                                                  # 0: alike

Two questions, and neither answers the other: whether the model reads the name (`pairs`), and whom
its decisions fall on (`rates`), whatever word they come from.

System: bias_privacy
Parent: none
What differs:
- the same text is asked twice, the second time with another group's words (`pairs`, `swapped`)
- decisions are counted by group against what is true (`rates`), and three differences are taken
  (`demographic_parity`, `equal_opportunity`, `equalised_odds`)
- repairs: texts learned with both names (`swapped`), weights (`balanced`), a `threshold` a group
- a secret that was planted is ranked among all that could have been
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
    """Of one group the shares that are chosen: of all, of the true ones, of the others."""

    chosen: float
    hits: float
    false: float


def swapped(text: str, twins: Mapping[str, str]) -> str:
    """Return the text with each word that has a twin replaced by it, in both directions."""
    both = {**{b: a for a, b in twins.items()}, **twins}
    return " ".join(both.get(word, word) for word in text.split())


def pairs(templates: Iterable[str], twins: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (text, twin) for each template and each pair of words; `{}` is where they stand.

    Raises ValueError for a template without `{}`.
    """
    found = []
    for template in templates:
        if "{}" not in template:
            raise ValueError(f"template {template!r}: expected {{}} where the name stands")
        found += [(template.replace("{}", a), template.replace("{}", b)) for a, b in twins.items()]
    return found


def rates(said: Sequence[int], true: Sequence[int], groups: Sequence[int]) -> dict[int, Rates]:
    """Return group -> Rates, of decisions, truths (0 or 1) and groups, each (N,).

        chosen = P(said = 1 | group),  hits = P(said = 1 | true = 1, group),
        false = P(said = 1 | true = 0, group)

    Raises ValueError where they differ in length, or a group has no true or no other member.
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
            raise ValueError(f"group {group}: all its members are true, or none: no rate of these")
        chosen = (tp + fp) / (tn + fp + fn + tp)
        found[group] = Rates(chosen, tp / (fn + tp), fp / (tn + fp))
    return found


def demographic_parity(counts: Mapping[int, Rates]) -> float:
    """The largest share of a group that is chosen, minus the smallest."""
    return _range(each.chosen for each in counts.values())


def equal_opportunity(counts: Mapping[int, Rates]) -> float:
    """The same of the true ones. Source: Hardt et al. 2016, definition 2.2."""
    return _range(each.hits for each in counts.values())


def equalised_odds(counts: Mapping[int, Rates]) -> float:
    """The larger of two differences: of the true ones', and of the others'. As in fairlearn."""
    return max(equal_opportunity(counts), _range(each.false for each in counts.values()))


def _range(values: Iterable[float]) -> float:
    all_of_them = list(values)
    return max(all_of_them) - min(all_of_them)


def balanced(labels: Sequence[int], groups: Sequence[int]) -> Tensor:
    """Return a weight a text, (N,), under which label and group are independent.

        w[n] = P(group) P(label) / P(group, label)       the mean of all is 1

    Source: Kamiran and Calders 2012, section 5.1 (reweighing). Raises ValueError for none, or
    where the lengths differ.
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
    """Return the highest threshold at which at least `rate` of the true ones are chosen
    (score >= threshold). scores, true: (N,). A threshold a group makes their rates alike.

    Source: Hardt et al. 2016, section 3. Raises ValueError where none is true, or for a rate that
    is not above 0 and at most 1.
    """
    own = scores[true.bool()].sort(descending=True).values
    if not len(own) or not 0 < rate <= 1:
        raise ValueError(f"got {len(own)} true ones and rate={rate}, expected some and 0 to 1")
    return float(own[math.ceil(rate * len(own) - 1e-9) - 1])

"""Agreement between two explanations, and recovery of a known cause.

Rank correlation (`spearman`, `kendall`) is how *attention is not explanation* was first measured,
and it is contested: Neely et al. 2022 find that on transformers no two methods correlate strongly,
and argue that a low correlation with another method, which is not ground truth itself, is no
evidence against an explanation. `tests/explain/evaluation/test_agreement.py` shows a second reason:
most words contribute nothing, their order is noise, and they dominate the correlation. Two
explanations that rank the same three words of forty on top, in the same order, can have a
correlation near 0. So `overlap` compares only the top k. Where the cause is planted, `recovery`
compares with the ground truth instead of another method.

Source: Jain and Wallace 2019, section 4.1 (Kendall's tau); Neely et al. 2022, "A Song of
(Dis)agreement"; Kendall 1945 (tau b).
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from deepdive.core.checks import positive
from deepdive.explain.probes import spearman

__all__ = ["kendall", "overlap", "recovery", "spearman", "table"]

Measure = Callable[[Tensor, Tensor], float]


def kendall(a: Tensor, b: Tensor) -> float:
    """Return Kendall's tau b of two attributions (S,):

        sum over pairs of sign(a_i - a_j) sign(b_i - b_j)
        / sqrt(pairs that differ in a  *  pairs that differ in b)

    1 for the same order, -1 for the reverse, 0 where one of them does not vary.
    """
    x, y = ((row[:, None] - row).sign().double() for row in (a, b))
    scale = float((x.square().sum() * y.square().sum()).sqrt())
    return float((x * y).sum()) / scale if scale else 0.0


def overlap(a: Tensor, b: Tensor, k: int) -> float:
    """Return the fraction of the top k features of `a` that are among the top k of `b`.

    Chance level: k / S. Raises ValueError for k above S.
    """
    positive(k=k)
    if k > len(a):
        raise ValueError(f"k: got {k}, expected at most {len(a)}, the number of features")
    return len(_first(a, k) & _first(b, k)) / k


def recovery(attribution: Tensor, cause: Tensor) -> float:
    """Return the probability that a feature of the cause ranks above another feature, 0 to 1:

        mean over i in the cause, j not, of  [a_i > a_j] + [a_i = a_j] / 2

    the area under the ROC curve: 1 if every feature of the cause comes first, 1/2 by chance. Pass
    absolute values if a cause may lower the output.
    Raises ValueError if all features are the cause, or none is.
    """
    inside, outside = attribution[cause], attribution[~cause]
    if not len(inside) or not len(outside):
        raise ValueError("cause: expected some features, not all and not none")
    above = (inside[:, None] > outside).double() + (inside[:, None] == outside).double() / 2
    return float(above.mean())


def table(attributions: Sequence[Tensor], measure: Measure) -> Tensor:
    """Return measure(a, b) for each pair of M explanations, (M, M)."""
    return torch.tensor([[measure(a, b) for b in attributions] for a in attributions])


def _first(attribution: Tensor, k: int) -> set[int]:
    return set(attribution.argsort(descending=True, stable=True)[:k].tolist())

"""Do two explanations agree, and does one find a cause that is known?

Rank correlation (`spearman`, `kendall`) is how *attention is not explanation* was first measured,
and it is contested: Neely et al. 2022 find that on transformers no two methods correlate strongly,
and argue that a low correlation with another method, which is itself no truth, says nothing against
an explanation. A second reason stands in `tests/explain/evaluation/test_agreement.py`: most words
count nothing, their order is noise, and they rule the correlation. Two explanations that name the
same three words of forty in the same order can have a correlation near 0. So `overlap`, which looks
at the first k only, stands beside it; and where the cause is planted, nothing is compared with
another method: `recovery` is compared with the truth.

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
    """Return the share of the k first parts of `a` that are among the k first of `b`.

    By chance it is k / S. Raises ValueError for k above S.
    """
    positive(k=k)
    if k > len(a):
        raise ValueError(f"k={k}: the attributions have {len(a)} parts")
    return len(_first(a, k) & _first(b, k)) / k


def recovery(attribution: Tensor, cause: Tensor) -> float:
    """Return how surely a part of the cause stands above one that is none, 0 to 1:

        mean over i in the cause, j not, of  [a_i > a_j] + [a_i = a_j] / 2

    the area under the ROC curve: 1 where every part of the cause comes first, 1/2 by chance. Give
    absolute values where a cause may count against the answer.
    Raises ValueError where all parts are the cause, or none is.
    """
    inside, outside = attribution[cause], attribution[~cause]
    if not len(inside) or not len(outside):
        raise ValueError("the cause must be some parts, not all and not none")
    above = (inside[:, None] > outside).double() + (inside[:, None] == outside).double() / 2
    return float(above.mean())


def table(attributions: Sequence[Tensor], measure: Measure) -> Tensor:
    """Return measure(a, b) of each two of M explanations, (M, M)."""
    return torch.tensor([[measure(a, b) for b in attributions] for a in attributions])


def _first(attribution: Tensor, k: int) -> set[int]:
    return set(attribution.argsort(descending=True, stable=True)[:k].tolist())

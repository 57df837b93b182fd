"""Cases of `deepdive.attention.low_rank.kernel`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.attention.low_rank.kernel import LinearAttention
from deepdive.masks import Causal, Padding
from laws import Case, Refuses, case, random_rows
from laws.attention.softmax import mechanism_case


def its_mask(attention: nn.Module) -> tuple[Tensor, Tensor]:
    """Return the causal form, padding included, and the weights written out, masked, divided by
    their sum, times v.
    """
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[0, :4] = False  # the first rows have no key
    weights = attention(q, k, torch.eye(23).double().expand(2, 2, 23, 23))
    mask = Causal() & Padding(real)
    weights = weights * mask.dense(23)
    total = weights.sum(-1, keepdim=True)
    return attention(q, k, v, mask), weights @ v / total.masked_fill(total == 0, 1.0)


NO_WEIGHTS = Refuses("nothing of size T x S exists: record says that there are no weights")


@case("LinearAttention", LinearAttention)
def _() -> Case:
    return mechanism_case(
        lambda: LinearAttention(chunk=4),
        parity="each weight from its two features, in float64",
        limits={"causal, in chunks: its mask": lambda: its_mask(LinearAttention(chunk=4))},
        laws={"hooks": NO_WEIGHTS},
    )

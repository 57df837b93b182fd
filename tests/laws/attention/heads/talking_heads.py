"""Cases of `deepdive.attention.heads.talking_heads`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.heads.talking_heads import TalkingHeadsAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding
from laws import Case, case, random_rows
from laws.attention.softmax import mechanism_case


@case("talking_heads", TalkingHeadsAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 3, 5, 4, seed=seed) for seed in range(3))
    mask = Causal() & Padding(torch.tensor([[0, 1, 1, 1, 1], [1, 1, 1, 1, 0]]).bool())

    def identity() -> tuple[Tensor, Tensor]:
        talking, bias = TalkingHeadsAttention(3).double(), random_rows(3, 5, 5)
        return talking(q, k, v, mask, bias), SoftmaxAttention()(q, k, v, mask, bias)

    def renamed() -> tuple[Tensor, Tensor]:
        """Two permutations that undo each other: the softmax does not care for the order."""
        talking, order = TalkingHeadsAttention(3).double(), torch.tensor([2, 0, 1])
        with torch.no_grad():
            talking.before.copy_(torch.eye(3)[order])
            talking.after.copy_(torch.eye(3)[order].T)
        return talking(q, k, v, mask), SoftmaxAttention()(q, k, v, mask)

    def one_question() -> tuple[Tensor, Tensor]:
        """Mixed scores are the scores of one long head: heads side by side, no new product."""
        talking, gains = TalkingHeadsAttention(3, 1).double(), torch.tensor([0.5, -1.0, 2.0])
        with torch.no_grad():
            talking.before.copy_(gains[:, None])
            talking.after.fill_(1.0)
        long = [(q * gains.view(3, 1, 1)), k]
        long_q, long_k = (rows.transpose(1, 2).flatten(2).unsqueeze(1) for rows in long)
        values = v.transpose(1, 2).flatten(2).unsqueeze(1)
        one = SoftmaxAttention()(long_q, long_k, values, mask, scale=0.5)
        return talking(q, k, v, mask), one.unflatten(-1, (3, 4)).squeeze(1).transpose(1, 2)

    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    return mechanism_case(
        lambda: TalkingHeadsAttention(4, 3),
        parity="the equations of Shazeer et al. 2020, entry by entry",
        limits={
            "identity mixing: SoftmaxAttention": identity,
            "heads renamed and named back: SoftmaxAttention": renamed,
            "all heads into one map: one long head": one_question,
        },
        refusals={
            "a bias for other maps": lambda: TalkingHeadsAttention(2, 4)(
                *zeros, bias=torch.zeros(2, 3, 3)
            ),
            "no map": lambda: TalkingHeadsAttention(2, 0),
        },
    )

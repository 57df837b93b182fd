"""Cases of `deepdive.attention.low_rank.nystrom`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.low_rank.nystrom import NystromAttention, pseudo_inverse
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Padding
from laws import Case, Fails, Refuses, case, random_rows
from laws.attention.softmax import mechanism_case


@case("NystromAttention", NystromAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 6, 4, seed=seed) for seed in range(3))

    def every_token() -> tuple[Tensor, Tensor]:
        """Each token its own landmark, and the inverse found: the product is the softmax."""
        padded = [torch.cat([rows, rows[:, :, :3]], dim=2) for rows in (q, k, v)]
        real = (torch.arange(9) < 6).expand(2, 9)
        output = NystromAttention(6, iterations=40)(*padded, Padding(real))
        return output[:, :, :6], SoftmaxAttention()(q, k, v)

    def few_tokens() -> tuple[Tensor, Tensor]:
        return NystromAttention(6)(q, k, v), SoftmaxAttention()(q, k, v)

    def alone() -> tuple[Tensor, Tensor]:
        """A text between padding is what it is alone."""
        texts = [random_rows(1, 2, 23, 4, seed=seed) for seed in range(3)]
        inside = [rows[:, :, 2:21] for rows in texts]
        real = torch.zeros(1, 23).bool()
        real[:, 2:21] = True
        attention = NystromAttention(4, convolution=ValueConvolution(2, 5)).double()
        return attention(*texts, Padding(real))[:, :, 2:21], attention(*inside)

    def inverse() -> tuple[Tensor, Tensor]:
        A = random_rows(2, 3, 5, 5).softmax(-1)
        return pseudo_inverse(A, 20), torch.linalg.inv(A)

    mixed = "a landmark is a mean that holds what comes later"
    return mechanism_case(
        lambda: NystromAttention(3, convolution=ValueConvolution(4, 3)),
        parity="transformers NystromformerModel",
        limits={
            "a landmark for each token: SoftmaxAttention": every_token,
            "at most n_landmarks tokens: SoftmaxAttention": few_tokens,
            "padded: alone": alone,
            "the iteration: the inverse": inverse,
        },
        laws={
            "no_leak": Refuses(mixed),
            "cache": Refuses(mixed),
            "order": Fails("segments are cut by place"),
            "hooks": Refuses("nothing of size T x S exists: record says there are no weights"),
        },
        refusals={"no landmarks": lambda: NystromAttention(0)},
    )

"""Cases of `deepdive.attention.by_position.global_window`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_position.global_window import GlobalTokens, GlobalWindowAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Dense, Global, Padding, Window
from laws import Case, Fails, Refuses, case, random_rows
from laws.attention.softmax import mechanism_case


@case("GlobalWindowAttention", GlobalWindowAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:11] = False
    marks = torch.zeros(2, 23).bool()
    marks[0, [4, 17]], marks[1, 2] = True, True

    def its_mask() -> tuple[Tensor, Tensor]:
        ours, mask = GlobalWindowAttention(3, 1, at=(0, -1), block=4), Padding(real)
        both = Window(3, 1) | Global((0, 22))
        return ours(q, k, v, mask), SoftmaxAttention()(q, k, v, mask & both)

    def marked_tokens() -> tuple[Tensor, Tensor]:
        ours, mask = GlobalWindowAttention(2, 2, block=4), Padding(real)
        opened = Dense(marks[:, None, :, None] | marks[:, None, None])
        expected = SoftmaxAttention()(q, k, v, mask & (Window(2, 2) | opened))
        return ours(q, k, v, mask & GlobalTokens(marks)), expected

    def no_global_token() -> tuple[Tensor, Tensor]:
        return GlobalWindowAttention(2, 1)(q, k, v), SoftmaxAttention()(q, k, v, Window(2, 1))

    def all_global() -> tuple[Tensor, Tensor]:
        mask = GlobalTokens(torch.ones(2, 23).bool())
        return GlobalWindowAttention(1, 1)(q, k, v, mask), SoftmaxAttention()(q, k, v)

    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    two_sided = Refuses("a global token sees all: there is no causal form, and no cache")
    return mechanism_case(
        lambda: GlobalWindowAttention(1, 1, at=(0,), block=2),
        parity="torch.nn.functional.scaled_dot_product_attention under its mask, transformers "
        "LongformerModel",
        limits={
            "the mask Window | Global, padding included": its_mask,
            "marked tokens, other ones in each text": marked_tokens,
            "no global token: the mask Window": no_global_token,
            "all tokens global: SoftmaxAttention": all_global,
        },
        refusals={
            "a position that is not there": lambda: GlobalWindowAttention(1, 1, (5,))(*zeros),
            "a window to the wrong side": lambda: GlobalWindowAttention(-1, 0),
            "marks for another text": lambda: GlobalWindowAttention(1, 1)(
                *zeros, mask=GlobalTokens(torch.ones(1, 4).bool())
            ),
            "marks of numbers": lambda: GlobalTokens(torch.ones(1, 3)),
        },
        laws={
            "no_leak": two_sided,
            "cache": two_sided,
            "order": Fails("who is near depends on the order"),
        },
    )

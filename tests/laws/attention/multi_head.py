"""Cases of `deepdive.attention.multi_head`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.cache import Slot
from deepdive.attention.multi_head import MultiHeadAttention
from deepdive.attention.softmax import SoftmaxAttention
from laws import Case, case, random_rows, set_weights


@case("multi_head", MultiHeadAttention)
def _() -> Case:
    def one_head() -> tuple[Tensor, Tensor]:
        x, one = random_rows(2, 5, 8), torch.eye(8)
        attention = MultiHeadAttention(8, 1)
        set_weights(attention, q__weight=one, kv__weight=torch.cat([one, one]), out__weight=one)
        return attention(x), SoftmaxAttention()(x[:, None], x[:, None], x[:, None])[:, 0]

    def grouped() -> tuple[Tensor, Tensor]:
        """Two query heads on one key-value head = plain heads whose keys and values are copies."""
        x, shared = random_rows(2, 5, 8), MultiHeadAttention(8, 4, n_kv_heads=2).double()
        plain = MultiHeadAttention(8, 4).double()
        plain.q, plain.out = shared.q, shared.out
        k, v = (w.unflatten(0, (2, 2)).repeat_interleave(2, 0) for w in shared.kv.weight.chunk(2))
        set_weights(plain, kv__weight=torch.cat([k.flatten(0, 1), v.flatten(0, 1)]))
        return shared(x), plain(x)

    x = torch.zeros(1, 3, 8)
    return Case(
        place="layer",
        make=lambda: MultiHeadAttention(16, 4, n_kv_heads=2),
        parity="torch.nn.MultiheadAttention",
        limits={"one head, no projections: the mechanism": one_head, "copied heads": grouped},
        refusals={
            "heads that do not divide": lambda: MultiHeadAttention(10, 4),
            "groups that do not divide": lambda: MultiHeadAttention(8, 4, n_kv_heads=3),
            "a wrong width": lambda: MultiHeadAttention(8, 2)(torch.zeros(1, 3, 9)),
            "a float mask": lambda: MultiHeadAttention(8, 2)(x, mask=torch.zeros(3, 3)),
            "an empty batch": lambda: MultiHeadAttention(8, 2)(torch.zeros(0, 3, 8)),
            "dropout in two places": lambda: MultiHeadAttention(
                8, 2, dropout=0.1, mechanism=SoftmaxAttention()
            ),
            "a cache under gradients": lambda: MultiHeadAttention(8, 2)(x, cache=Slot()),
        },
    )

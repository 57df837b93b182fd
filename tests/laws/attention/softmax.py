"""Cases of `deepdive.attention.softmax`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention.softmax import SoftmaxAttention
from deepdive.inspect import record
from deepdive.masks import Causal, Padding
from laws import Case, case, random_rows


def mechanism_case(mechanism: Callable[[], nn.Module], **more: Any) -> Case:
    """Return the case of a mechanism for 4 heads of width 4, with what every mechanism refuses."""
    zeros = [torch.zeros(1, 4, 3, 4)] * 3
    refusals = {
        "a mask of floats": lambda: mechanism()(*zeros, mask=torch.zeros(3, 3)),
        "a mask for other keys": lambda: mechanism()(*zeros, mask=torch.ones(2, 7).bool()),
        "a bias of bools": lambda: mechanism()(*zeros, bias=torch.ones(3, 3).bool()),
        "three axes": lambda: mechanism()(zeros[0][0], *zeros[1:]),
        "other heads": lambda: mechanism()(torch.zeros(1, 3, 3, 4), *zeros[1:]),
        "two dtypes": lambda: mechanism()(zeros[0].double(), *zeros[1:]),
    }
    declared: dict[str, Any] = {
        "place": "mechanism",
        "make": mechanism,
        "parity": "torch.nn.functional.scaled_dot_product_attention",
        "refusals": refusals | more.pop("refusals", {}),
    }
    return Case(**declared | more)


@case("scaled_dot_attention", SoftmaxAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 5, 4, seed=seed) for seed in range(3))

    def explicit() -> tuple[Tensor, Tensor]:
        attention, bias = SoftmaxAttention(), random_rows(2, 2, 5, 5)
        mask = Causal() & Padding(torch.tensor([[0, 1, 1, 1, 1], [0, 0, 0, 0, 0]]).bool())
        fused = attention(q, k, v, mask, bias)
        with record(attention, "weights"):
            return attention(q, k, v, mask, bias), fused

    return mechanism_case(
        SoftmaxAttention,
        limits={
            "the steps one by one: the fused kernel": explicit,
            "scale 0: the mean": lambda: (
                SoftmaxAttention()(q, k, v, scale=0.0),
                v.mean(2, keepdim=True).expand_as(v),
            ),
            "one key: its value": lambda: (
                SoftmaxAttention()(q, k[:, :, :1], v[:, :, :1]),
                v[:, :, :1].expand_as(q),
            ),
        },
    )

"""Cases of `deepdive.attention.by_content.yoso`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.by_content.yoso import ExpectedYosoAttention, YosoAttention
from deepdive.masks import Padding
from laws import Case, Refuses, case, random_rows
from laws.attention.softmax import mechanism_case


@case("ExpectedYosoAttention", ExpectedYosoAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 5, 4, seed=seed) for seed in range(3))

    def one_angle() -> tuple[Tensor, Tensor]:
        """At one angle to all keys, all weights are equal: the mean, at length 1."""
        same = k[:, :, :1].expand_as(k)
        return ExpectedYosoAttention()(q, same, v), F.normalize(
            v.mean(2, keepdim=True).expand_as(v), dim=-1
        )

    def sharp() -> tuple[Tensor, Tensor]:
        """With very many bits only the key in the query's own direction is left."""
        return ExpectedYosoAttention(2000)(3 * k, k, v), F.normalize(v, dim=-1)

    return mechanism_case(
        lambda: ExpectedYosoAttention(3),
        parity="transformers YosoModel(use_expectation=True)",
        limits={"one angle: the mean": one_angle, "many bits: the key itself": sharp},
        laws={"hooks": Refuses("weights that sum to one do not exist: record says so")},
    )


@case("yoso", YosoAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 5, 4, seed=seed) for seed in range(3))
    real = (torch.arange(5) < torch.tensor([[5], [3]])).expand(2, 5)

    def counted() -> tuple[Tensor, Tensor]:
        """The share of hashes that agree, written out as weights."""
        attention = YosoAttention(4, 3, 7).double()
        agree = attention.buckets(q)[..., :, None] == attention.buckets(k)[..., None, :]
        weights = agree.double().mean(0) * real[:, None, None, :]
        return attention(q, k, v, Padding(real)), F.normalize(weights @ v, dim=-1)

    def make() -> YosoAttention:
        return YosoAttention(4, 2, 16)

    sums = "a bucket's sum holds what comes later"
    return mechanism_case(
        make,
        parity="the share of agreeing hashes written out, its slope, and its error's rate",
        limits={"the hashes counted": counted},
        refusals={"buckets": lambda: YosoAttention(8, 40)},
        laws={
            "no_leak": Refuses(sums),
            "cache": Refuses(sums),
            "hooks": Refuses("weights that sum to one do not exist: record says so"),
        },
    )

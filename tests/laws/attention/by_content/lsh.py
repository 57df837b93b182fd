"""Cases of `deepdive.attention.by_content.lsh`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_content.lsh import LSHAttention, LSHMaskAttention, ReleasedLSHAttention
from deepdive.attention.by_content.shared_qk import SharedQKAttention
from deepdive.masks import Causal, Mask, Padding
from laws import Case, Fails, case, random_rows
from laws.attention.by_content.shared_qk import SQUARE
from laws.attention.softmax import mechanism_case

ORDERED = Fails("within a bucket rows stand in their order, so that chunks end elsewhere")


LEAKS = Fails(
    "where a chunk ends depends on the buckets of later rows: which keys, not what they say"
)


def lsh_case(part: type[LSHMaskAttention], **more: object) -> Case:
    declared: dict[str, object] = {
        "refusals": {
            "no chunk": lambda: part(0),
            "an odd number of buckets": lambda: part(4, 1, 3),
        },
        "laws": {"cache": SQUARE, "order": ORDERED, "no_leak": LEAKS},
    }
    return mechanism_case(lambda: part(2, 2, 4), **(declared | more))


def its_rows() -> tuple[list[Tensor], Mask]:
    real = torch.ones(2, 23).bool()
    real[1, 5:11] = False
    return [random_rows(2, 2, 23, 4, seed=seed) for seed in range(2)], Padding(real)


def everything(part: type[LSHMaskAttention]) -> tuple[Tensor, Tensor]:
    (q, v), _ = its_rows()
    ours = [part(23, 3, 1)(q, q, v, mask) for mask in (None, Causal())]
    return torch.cat(ours), torch.cat([SharedQKAttention()(q, q, v, m) for m in (None, Causal())])


@case("LSHMaskAttention", LSHMaskAttention)
def _() -> Case:
    return lsh_case(
        LSHMaskAttention,
        parity="the definition in loops",
        limits={"one bucket, one chunk: SharedQKAttention": lambda: everything(LSHMaskAttention)},
    )


@case("LSHAttention", LSHAttention)
def _() -> Case:
    def its_mask() -> tuple[Tensor, Tensor]:
        (q, v), padding = its_rows()
        both_of = [part(4, 3, 4).eval() for part in (LSHAttention, LSHMaskAttention)]
        ours, mask = ([a(q, q, v, m) for m in (None, padding, padding & Causal())] for a in both_of)
        return torch.cat(ours), torch.cat(mask)

    return lsh_case(
        LSHAttention,
        parity="the definition in loops",
        limits={
            "LSHMaskAttention": its_mask,
            "one bucket, one chunk: SharedQKAttention": lambda: everything(LSHAttention),
        },
    )


@case("ReleasedLSHAttention", ReleasedLSHAttention)
def _() -> Case:
    return lsh_case(
        ReleasedLSHAttention,
        parity="transformers LSHSelfAttention",
        limits={
            "one bucket, one chunk: SharedQKAttention": lambda: everything(ReleasedLSHAttention)
        },
    )

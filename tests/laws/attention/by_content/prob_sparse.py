"""Cases of `deepdive.attention.by_content.prob_sparse`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_content.prob_sparse import ProbSparseAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding
from laws import Case, Fails, case, random_rows
from laws.attention.softmax import mechanism_case


@case("ProbSparseAttention", ProbSparseAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 40, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 40).bool()
    real[1, 5:11] = False

    def all_active() -> tuple[Tensor, Tensor]:
        masks = (None, Padding(real), Causal(), Causal() & Padding(real))
        ours = [ProbSparseAttention(10)(q, k, v, mask) for mask in masks]
        return torch.cat(ours), torch.cat([SoftmaxAttention()(q, k, v, mask) for mask in masks])

    def equal_keys() -> tuple[Tensor, Tensor]:
        """Keys that no query can tell apart: the mean is exact."""
        same = k[:, :, :1].expand_as(k)
        return ProbSparseAttention(2).eval()(q, same, v), SoftmaxAttention()(q, same, v)

    over_all = Fails("which queries are active is decided over the whole row")
    return mechanism_case(
        lambda: ProbSparseAttention(1),
        parity="transformers InformerProbSparseAttention",
        limits={
            "u = T: SoftmaxAttention, causal and padded too": all_active,
            "keys that are equal: SoftmaxAttention": equal_keys,
        },
        laws={
            "no_leak": over_all,
            "cache": over_all,
            "order": Fails("which keys a query samples depends on its place"),
        },
        refusals={"no factor": lambda: ProbSparseAttention(0)},
    )

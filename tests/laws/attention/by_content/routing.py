"""Cases of `deepdive.attention.by_content.routing`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.by_content.routing import RoutingAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Causal, Padding
from laws import Case, Fails, Refuses, case, random_rows
from laws.attention.softmax import mechanism_case


@case("routing", RoutingAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 9, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 9).bool()
    real[1, 5:] = False

    def one_cluster() -> tuple[Tensor, Tensor]:
        routing = RoutingAttention(2, 4, 1, 9).double()
        qn, kn = F.layer_norm(q, (4,)), F.layer_norm(k, (4,))
        masks = (None, Causal(), Padding(real))
        ours = torch.stack([routing(q, k, v, mask) for mask in masks])
        full = torch.stack([SoftmaxAttention()(qn, kn, v, mask) for mask in masks])
        return ours * real[:, None, :, None], full * real[:, None, :, None]

    def make() -> RoutingAttention:
        torch.manual_seed(0)
        return RoutingAttention(4, 4, 2, 4)

    return mechanism_case(
        make,
        parity="the equation in loops",
        limits={"one cluster of all rows: SoftmaxAttention on normalised rows": one_cluster},
        laws={
            "no_leak": Fails("which rows a cluster holds depends on later ones"),
            "cache": Refuses("a key for each query: clusters are formed anew"),
        },
        refusals={"no cluster": lambda: RoutingAttention(2, 4, 0)},
    )

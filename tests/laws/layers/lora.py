"""Cases of `deepdive.layers.lora`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.layers.lora import LoRA, adapt
from laws import Case, case, random_rows

X = random_rows(2, 5, 16)


def tuned(rank: int = 3, alpha: float | None = None) -> LoRA:
    torch.manual_seed(0)
    layer = LoRA(nn.Linear(16, 12), rank, alpha).double()
    nn.init.normal_(layer.B)
    return layer


def at_the_start() -> tuple[Tensor, Tensor]:
    layer = LoRA(nn.Linear(16, 12), 3).double()
    return layer(X), layer.frozen(X)


def merged() -> tuple[Tensor, Tensor]:
    layer = tuned(alpha=6.0)
    before = layer(X)
    return layer.merged()(X), before


def full_rank() -> tuple[Tensor, Tensor]:
    """As many directions as the narrower side: any change at all."""
    layer, change = tuned(12), random_rows(12, 16, seed=7)
    with torch.no_grad():
        layer.B.copy_(torch.eye(12))
        layer.A.copy_(change)
    return layer(X), X @ (layer.frozen.weight + change).T + layer.frozen.bias


@case("LoRA", LoRA)
def _() -> Case:
    return Case(
        place="feed_forward",
        make=lambda: LoRA(nn.Linear(16, 16), 3, 6.0),
        parity="none: peft is no dependency; tests/layers/test_lora.py has the paper's equations",
        limits={
            "at the start: the frozen layer": at_the_start,
            "merged: one layer that says the same": merged,
            "of full rank: any change": full_rank,
        },
        refusals={
            "a rank above a side": lambda: LoRA(nn.Linear(16, 12), 13),
            "no rank": lambda: LoRA(nn.Linear(16, 12), 0),
            "no layer of that name": lambda: adapt(nn.Sequential(nn.Linear(4, 4)), 2, ["attn.q"]),
        },
        silent={"frozen": "it is frozen: that is the method"},
    )

"""Cases of `deepdive.layers.norms`."""

from __future__ import annotations

import torch

from deepdive.layers.norms import LayerNorm, RMSNorm
from laws import Case, case, random_rows


@case("LayerNorm", LayerNorm)
def _() -> Case:
    x = random_rows(2, 3, 16)
    whitened = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, unbiased=False)
    return Case(
        place="norm",
        make=lambda: LayerNorm(16),
        parity="torch.nn.LayerNorm",
        limits={
            "rows of mean 0 and variance 1": lambda: (
                LayerNorm(16, 0.0).double()(whitened),
                whitened,
            )
        },
        refusals={"another width": lambda: LayerNorm(16)(torch.zeros(2, 3, 15))},
    )


@case("RMSNorm", RMSNorm)
def _() -> Case:
    x = random_rows(2, 3, 16)
    centred = x - x.mean(-1, keepdim=True)
    return Case(
        place="norm",
        make=lambda: RMSNorm(16),
        parity="torch.nn.RMSNorm",
        limits={
            "LayerNorm on rows of mean 0": lambda: (
                RMSNorm(16, 1e-5).double()(centred),
                LayerNorm(16, 1e-5, bias=False).double()(centred),
            )
        },
        refusals={"another width": lambda: RMSNorm(16)(torch.zeros(2, 3, 15))},
    )

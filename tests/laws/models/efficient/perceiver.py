"""Cases of `deepdive.models.efficient.perceiver`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.masks import Mask
from deepdive.models.efficient.perceiver import TINY, Perceiver, perceiver
from laws import Case, NotApplicable, case, padding_of, random_rows, set_weights

WHOLE = NotApplicable("the latents have read the whole input")


@case("perceiver", Perceiver)
def _() -> Case:
    def copies() -> tuple[Tensor, Tensor]:
        """An input that repeats itself is read as it is."""
        model, x = perceiver(TINY).double(), random_rows(2, 5, 16)
        return model(x.repeat(1, 3, 1)), model(x)

    def deaf() -> tuple[Tensor, Tensor]:
        model, x = set_weights(perceiver(TINY), cross__attn__out__weight=0.0), random_rows(2, 5, 16)
        return model(x), model(torch.zeros_like(x))

    def run(module: Perceiver, x: Tensor, mask: Mask | None, state: object) -> Tensor:
        latents = module(x, padding_of(mask))
        return latents.mean(1, keepdim=True).expand(-1, x.shape[1], -1)

    x = torch.zeros(1, 3, 16)
    return Case(
        make=lambda: perceiver(TINY),
        run=run,
        parity="transformers PerceiverModel",
        limits={"an input that repeats itself: that input": copies, "a deaf cross-attention": deaf},
        refusals={
            "an inverted mask": lambda: perceiver(TINY)(x, torch.zeros(1, 3).bool()),
            "another width": lambda: perceiver(TINY, d_input=8)(x),
        },
        laws={"no_leak": WHOLE, "cache": WHOLE},
    )

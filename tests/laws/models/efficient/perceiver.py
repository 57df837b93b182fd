"""Cases of `deepdive.models.efficient.perceiver`."""

import torch
from torch import Tensor

from deepdive.core.masks import Mask
from deepdive.models.efficient.perceiver import TINY, Perceiver, perceiver
from laws import Case, NotApplicable, case, padding_of, random_rows, set_weights

X, ROWS = random_rows(2, 5, 16), torch.zeros(1, 3, 16)


@case("perceiver", Perceiver)
def _() -> Case:
    def copies() -> tuple[Tensor, Tensor]:
        """An input that repeats itself is read as it is."""
        model = perceiver(TINY).double()
        return model(X.repeat(1, 3, 1)), model(X)

    def run(module: Perceiver, x: Tensor, mask: Mask | None, state: object) -> Tensor:
        latents = module(x, padding_of(mask))
        return latents.mean(1, keepdim=True).expand(-1, x.shape[1], -1)

    deaf = set_weights(perceiver(TINY), cross__attn__out__weight=0.0)
    whole = NotApplicable("the latents have read the whole input")
    return Case(
        run=run,
        parity="transformers PerceiverModel",
        limits={
            "an input that repeats itself: that input": copies,
            "a deaf cross-attention": lambda: (deaf(X), deaf(torch.zeros_like(X))),
        },
        refusals={
            "an inverted mask": lambda: perceiver(TINY)(ROWS, torch.zeros(1, 3).bool()),
            "another width": lambda: perceiver(TINY, d_input=8)(ROWS),
        },
        laws={"no_leak": whole, "cache": whole},
    )

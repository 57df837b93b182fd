"""Cases of `deepdive.models.efficient.perceiver` and of its layers."""

import torch
from torch import Tensor

from deepdive.attention import MultiHeadAttention
from deepdive.masks import Mask
from deepdive.models.efficient.perceiver import TINY, Perceiver, perceiver
from deepdive.models.efficient.perceiver_layers import ChannelAttention, LatentLayer
from laws import Case, NotApplicable, case, padding_of, random_rows, set_weights

PARITY = "transformers PerceiverModel"
X, ROWS = random_rows(2, 5, 16), torch.zeros(1, 3, 16)


@case("ChannelAttention", ChannelAttention)
def _() -> Case:
    def one_width() -> tuple[Tensor, Tensor]:
        wide, plain = ChannelAttention(16, 4, 16, 16), MultiHeadAttention(16, 4)
        plain.load_state_dict(wide.state_dict())
        return wide.double()(X), plain.double()(X)

    return Case(
        place="layer",
        make=lambda: ChannelAttention(16, 4, 8, 24),
        parity=PARITY,
        limits={"one width: MultiHeadAttention": one_width},
        refusals={"heads that do not divide": lambda: ChannelAttention(16, 4, 16, 18)},
    )


@case("LatentLayer", LatentLayer)
def _() -> Case:
    def layer(d_context: int | None = None) -> LatentLayer:
        return LatentLayer(ChannelAttention(16, 4, 16, 16, d_context=d_context), 32, d_context)

    silent = set_weights(layer(), attn__out__weight=0.0, ff__out__weight=0.0)
    return Case(
        make=layer,
        run=lambda module, x, mask, state: module(x, mask=mask),
        parity=PARITY,
        limits={"sublayers that return 0: the stream": lambda: (silent(X), X)},
        refusals={
            "no foreign rows": lambda: layer(16)(ROWS),
            "unread foreign rows": lambda: layer()(ROWS, ROWS),
        },
        laws={"cache": NotApplicable("latents are not decoded one by one")},
    )


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
        parity=PARITY,
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

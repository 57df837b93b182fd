"""Cases of `deepdive.models.efficient.perceiver_layers`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention import MultiHeadAttention
from deepdive.models.efficient.perceiver_layers import ChannelAttention, LatentLayer
from laws import Case, NotApplicable, case, random_rows, set_weights


@case("ChannelAttention", ChannelAttention)
def _() -> Case:
    def one_width() -> tuple[Tensor, Tensor]:
        wide, x = ChannelAttention(16, 4, 16, 16).double(), random_rows(2, 5, 16)
        plain = MultiHeadAttention(16, 4).double()
        plain.load_state_dict(wide.state_dict())
        return wide(x), plain(x)

    return Case(
        place="layer",
        make=lambda: ChannelAttention(16, 4, 8, 24),
        parity="transformers PerceiverModel",
        limits={"one width: MultiHeadAttention": one_width},
        refusals={"heads that do not divide": lambda: ChannelAttention(16, 4, 16, 18)},
    )


@case("LatentLayer", LatentLayer)
def _() -> Case:
    def layer(d_context: int | None = None) -> LatentLayer:
        return LatentLayer(ChannelAttention(16, 4, 16, 16, d_context=d_context), 32, d_context)

    def silent() -> tuple[Tensor, Tensor]:
        x = random_rows(2, 5, 16)
        return set_weights(layer(), attn__out__weight=0.0, ff__out__weight=0.0)(x), x

    rows = torch.zeros(1, 3, 16)
    return Case(
        make=layer,
        run=lambda module, x, mask, state: module(x, mask=mask),
        parity="transformers PerceiverModel",
        limits={"sublayers that return 0: the stream": silent},
        refusals={
            "no foreign rows": lambda: layer(16)(rows),
            "unread foreign rows": lambda: layer()(rows, rows),
        },
        laws={"cache": NotApplicable("latents are not decoded one by one")},
    )

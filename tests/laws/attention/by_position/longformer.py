"""Cases of `deepdive.attention.by_position.longformer`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.attention.by_position.longformer import LongformerAttention
from deepdive.attention.cache import Slot
from deepdive.attention.multi_head import MultiHeadAttention
from deepdive.masks import Global, Mask, Padding, Window
from laws import Case, Fails, Refuses, case, random_rows


@case("LongformerAttention", LongformerAttention)
def _() -> Case:
    x = random_rows(2, 13, 16)
    real = torch.arange(13) < torch.tensor([[13], [9]])

    def make(window: int = 1, at: tuple[int, ...] = (0,)) -> LongformerAttention:
        return LongformerAttention(16, 4, window, at, block=4)

    def moved(layer: LongformerAttention) -> LongformerAttention:
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in layer.double().parameters():
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator).double())
        return layer

    def shared(layer: LongformerAttention, mask: Mask) -> tuple[Tensor, Tensor]:
        """The layer, and plain attention with its shared projections under `mask`."""
        plain = MultiHeadAttention(16, 4)
        for name in ("q", "kv", "out"):
            setattr(plain, name, getattr(layer, name))
        return layer(x, mask=Padding(real)), plain(x, mask=Padding(real) & mask)

    def no_global_token() -> tuple[Tensor, Tensor]:
        return shared(moved(make(2, ())), Window(2, 2))

    def at_the_start() -> tuple[Tensor, Tensor]:
        layer = moved(make())
        layer.start_global()
        return shared(layer, Window(1, 1) | Global((0,)))

    two_sided = Refuses("a global token sees all: there is no causal form, and no cache")
    rows = torch.zeros(1, 3, 16)
    return Case(
        place="layer",
        make=make,
        parity="transformers LongformerModel",
        limits={
            "no global token: multi-head attention under the mask Window": no_global_token,
            "global projections as they start: the mask Window | Global": at_the_start,
        },
        refusals={
            "foreign rows": lambda: make()(rows, rows),
            "a cache": lambda: make()(rows, cache=Slot()),
            "a bias": lambda: make()(rows, bias=torch.zeros(3, 3)),
            "another mask": lambda: make()(rows, mask=Window(2)),
        },
        laws={
            "no_leak": two_sided,
            "cache": two_sided,
            "order": Fails("who is near depends on the order"),
        },
    )

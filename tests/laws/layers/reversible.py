"""Cases of `deepdive.layers.reversible`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention.cache import Slot
from deepdive.layers.reversible import ReversibleBlock, ReversibleStack
from laws import Case, case, random_rows, set_weights


@case("reversible/ReversibleBlock", ReversibleBlock)
def _() -> Case:
    from deepdive.attention import MultiHeadAttention
    from deepdive.layers import FeedForward

    def make() -> ReversibleBlock:
        return ReversibleBlock(MultiHeadAttention(16, 4), FeedForward(16, 32))

    def there_and_back() -> tuple[Tensor, Tensor]:
        block, x = make().double(), random_rows(2, 2, 5, 16)
        return torch.stack(block.inverse(*block(*x))), x

    def silent_sublayers() -> tuple[Tensor, Tensor]:
        block, x = make(), random_rows(2, 2, 5, 16)
        set_weights(block, attn__out__weight=0.0, ff__out__weight=0.0)
        return torch.stack(block(*x)), x

    def run(block: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return torch.cat(block(x, x.flip(-1), (mask, None), state), dim=-1)

    return Case(
        make=make,
        run=run,
        begin=lambda block: Slot(),
        parity="transformers ReformerLayer",
        limits={"the inverse: the input": there_and_back, "silent: the input": silent_sublayers},
        refusals={
            "a float mask": lambda: run(make(), random_rows(1, 3, 16).float(), random_rows(3, 3))
        },
    )


@case("reversible", ReversibleStack)
def _() -> Case:
    from deepdive.attention import MultiHeadAttention
    from deepdive.layers import FeedForward

    def make() -> ReversibleStack:
        def block(_layer: int) -> ReversibleBlock:
            return ReversibleBlock(MultiHeadAttention(16, 4), FeedForward(16, 32))

        return ReversibleStack(block, 3)

    def in_a_row() -> tuple[Tensor, Tensor]:
        x, stack = random_rows(2, 5, 16), make().double()
        y1 = y2 = x
        for block in stack.blocks:
            y1, y2 = block(y1, y2)
        return stack(x), torch.cat([y1, y2], dim=-1)

    rows = torch.zeros(1, 2, 16)
    return Case(
        place="stack",
        make=make,
        parity="transformers ReformerModel",
        limits={"its blocks in a row": in_a_row},
        refusals={
            "a negative number of layers": lambda: ReversibleStack(lambda i: nn.Identity(), -1),
            "a memory": lambda: make()(rows, rows),
        },
    )

"""Cases of `deepdive.layers.stacks`."""

from __future__ import annotations

from torch import Tensor, nn

from deepdive.layers.stacks import Stack
from laws import Case, case, random_rows


@case("Stack", Stack)
def _() -> Case:
    from deepdive.attention import MultiHeadAttention
    from deepdive.layers import Block, FeedForward

    def block() -> Block:
        return Block(MultiHeadAttention(16, 4), FeedForward(16, 32))

    def no_layers() -> tuple[Tensor, Tensor]:
        x = random_rows(2, 3, 16)
        return Stack(lambda i: nn.Identity(), 0)(x), x

    def in_a_row() -> tuple[Tensor, Tensor]:
        x, stack = random_rows(2, 3, 16), Stack(lambda i: block(), 2).double()
        return stack.blocks[1](stack.blocks[0](x)), stack(x)

    def shared() -> Stack:  # one block for all layers: the hardest to cache and to save
        one = block()
        return Stack(lambda i: one, 3)

    return Case(
        place="stack",
        make=shared,
        parity="torch.nn.TransformerEncoder",
        limits={"no layers: the input": no_layers, "its blocks in a row": in_a_row},
        refusals={"a negative number of layers": lambda: Stack(lambda i: nn.Identity(), -1)},
    )

"""Cases of `deepdive.models.efficient.luna`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.layers import LayerNorm
from deepdive.masks import Causal, Mask, Window
from deepdive.models.efficient.luna import NO_CACHE, LunaBlock, LunaStack, luna, tiny
from laws import Case, NotApplicable, Refuses, case, random_rows, set_weights


def _two_streams(block: LunaBlock, x: Tensor, mask: Mask | None, state: object) -> Tensor:
    """Both outputs of a block in one tensor: the memory's mean is added to every token."""
    memory = torch.linspace(-1, 1, 48, dtype=x.dtype).view(1, 3, 16).expand(len(x), -1, -1)
    x, memory = block(x, memory, mask)
    return x + memory.mean(1, keepdim=True)


@case("luna/LunaBlock", LunaBlock)
def _() -> Case:
    def silent() -> tuple[Tensor, Tensor]:
        x, block = random_rows(2, 5, 16), LunaBlock(16, 4, 32)
        set_weights(block, pack__out__weight=0.0, unpack__out__weight=0.0, ff__out__weight=0.0)
        twice = LayerNorm(16).double()
        return block(x, x[:, :3])[0], twice(twice(x))

    def the_same_rows() -> tuple[Tensor, Tensor]:
        """A memory that nothing distinguishes packs one row: every token reads that row."""
        x, block = random_rows(2, 5, 16), LunaBlock(16, 4, 32).double()
        memory = random_rows(1, 1, 16).expand(2, 3, 16)
        packed = block.pack(memory, x)
        read = block.unpack.out(block.unpack.kv(packed[:, :1]).chunk(2, -1)[1])
        hidden = block.attn_residual(x, lambda rows: read.expand_as(rows))
        return block(x, memory)[0], block.ff_residual(hidden, block.ff)

    return Case(
        make=lambda: LunaBlock(16, 4, 32),
        run=_two_streams,
        parity="the paper's equations, written out as loops over rows",
        limits={
            "sublayers that return 0: the norms": silent,
            "memory rows that are equal: one value for all": the_same_rows,
        },
        refusals={
            "another mask": lambda: LunaBlock(16, 4, 32)(
                torch.zeros(1, 3, 16), torch.zeros(1, 2, 16), Window(1)
            )
        },
        laws={"cache": NotApplicable("a block of two streams has no cache; its stack refuses one")},
    )


@case("luna", LunaStack)
def _() -> Case:
    def in_a_row() -> tuple[Tensor, Tensor]:
        x, stack = random_rows(2, 5, 16), tiny().double()
        first = stack.blocks[0](x, stack.memory.expand(2, -1, -1))
        return torch.cat(stack.both(x), 1), torch.cat(stack.blocks[1](*first), 1)

    def causal_memory() -> tuple[Tensor, Tensor]:
        stack = tiny().double()
        return stack.both(random_rows(2, 5, 16), Causal())[1], stack.memory.expand(2, -1, -1)

    x = torch.zeros(1, 3, 16)
    return Case(
        place="stack",
        make=tiny,
        parity="the paper's equations, written out as loops over rows",
        limits={
            "its blocks in a row, both streams": in_a_row,
            "under a causal mask the memory stays": causal_memory,
        },
        refusals={
            "another mask": lambda: tiny()(x, mask=Window(1)),
            "foreign rows": lambda: tiny()(x, memory=x),
            "no memory": lambda: luna(16, n_slots=0),
        },
        silent={"blocks.1.memory_residual": "no layer reads what the last one packed"},
        laws={"cache": Refuses(NO_CACHE)},
    )

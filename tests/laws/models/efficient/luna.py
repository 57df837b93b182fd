"""Cases of `deepdive.models.efficient.luna`."""

import torch
from torch import Tensor

from deepdive.core import LayerNorm
from deepdive.core.masks import Causal, Mask, Window
from deepdive.models.efficient.luna import LunaBlock, LunaStack, luna, tiny
from laws import Case, NotApplicable, Refuses, case, random_rows, set_weights

X, ROWS = random_rows(2, 5, 16), torch.zeros(1, 3, 16)


def _two_streams(block: LunaBlock, x: Tensor, mask: Mask | None, state: object) -> Tensor:
    """Both outputs of a block in one tensor: the memory's mean is added to every token."""
    memory = torch.linspace(-1, 1, 48, dtype=x.dtype).view(1, 3, 16).expand(len(x), -1, -1)
    x, memory = block(x, memory, mask)
    return x + memory.mean(1, keepdim=True)


@case("luna/LunaBlock", LunaBlock)
def _() -> Case:
    def silent() -> tuple[Tensor, Tensor]:
        block, norm = LunaBlock(16, 4, 32), LayerNorm(16).double()
        set_weights(block, pack__out__weight=0.0, unpack__out__weight=0.0, ff__out__weight=0.0)
        return block(X, X[:, :3])[0], norm(norm(X))

    def the_same_rows() -> tuple[Tensor, Tensor]:
        """A memory that nothing distinguishes packs one row: every token reads that row."""
        block, memory = LunaBlock(16, 4, 32).double(), random_rows(1, 1, 16).expand(2, 3, 16)
        packed = block.pack(memory, memory=X)
        read = block.unpack.out(block.unpack.kv(packed[:, :1]).chunk(2, -1)[1])
        hidden = block.attn_residual(X, lambda rows: read.expand_as(rows))
        return block(X, memory)[0], block.ff_residual(hidden, block.ff)

    return Case(
        make=lambda: LunaBlock(16, 4, 32),
        run=_two_streams,
        parity="the paper's equations, written out as loops over rows",
        limits={
            "sublayers that return 0: the norms": silent,
            "memory rows that are equal: one value for all": the_same_rows,
        },
        refusals={"another mask": lambda: LunaBlock(16, 4, 32)(ROWS, ROWS, Window(1))},
        laws={"cache": NotApplicable("a block of two streams has no cache; its stack refuses one")},
    )


@case("luna", LunaStack)
def _() -> Case:
    def in_a_row() -> tuple[Tensor, Tensor]:
        stack = tiny().double()
        first = stack.blocks[0](X, stack.memory.expand(2, -1, -1))
        return torch.cat(stack.both(X), 1), torch.cat(stack.blocks[1](*first), 1)

    def causal_memory() -> tuple[Tensor, Tensor]:
        stack = tiny().double()
        return stack.both(X, Causal())[1], stack.memory.expand(2, -1, -1)

    return Case(
        place="stack",
        parity="the paper's equations, written out as loops over rows",
        limits={
            "its blocks in a row, both streams": in_a_row,
            "under a causal mask the memory stays": causal_memory,
        },
        refusals={
            "another mask": lambda: tiny()(ROWS, mask=Window(1)),
            "foreign rows": lambda: tiny()(ROWS, memory=ROWS),
            "no memory": lambda: luna(16, n_slots=0),
        },
        silent={"blocks.1.memory_residual": "no layer reads what the last one packed"},
        laws={"cache": Refuses(LunaStack.instead)},
    )

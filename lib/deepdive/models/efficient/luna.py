"""Luna: linear attention through a second sequence of fixed length. Ma et al.
2021, "Luna: Linear Unified Nested Attention".

Long because no parent has a layer of two streams, nor a causal and a non-causal form of one.

System: luna
Parent: linformer
What differs:
- the keys are compressed by attention: `n_slots` memory vectors attend to them (`NestedAttention`,
  `LunaBlock.pack`), where Linformer multiplies by a learned matrix of a fixed length
- these memory vectors are a second stream, which each layer returns with the tokens
  (`LunaStack.both`)
- a causal form, with softplus instead of the softmax over the keys (`unpack_causally`)
Source: Ma et al. 2021.
Book: 5.2.6.1
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.attention.memories.luna_attention import attend_causally
from deepdive.attention.structure import read_mask
from deepdive.core import Context, FeedForward, MultiHeadAttention, PostNorm
from deepdive.core.checks import positive
from deepdive.core.masks import Mask, Padding
from deepdive.core.stack import Stack


class LunaBlock(nn.Module):
    """One layer of two streams, tokens x (B, T, d_model) and memory p (B, n_slots, d_model).

        packed = pack(p, x)                       # the memory attends to the tokens
        x, p   = norm(x + unpack(x, packed)), norm(p + packed)
        x      = norm(x + ff(x))

    Under `Causal`, x goes through `attend_causally`, and p is returned unchanged: packed vectors
    depend on every token, so no token of the next layer may attend to them.
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.pack = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.unpack = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.ff = FeedForward(d_model, d_ff)
        self.attn_residual, self.ff_residual, self.memory_residual = (
            PostNorm(d_model, dropout=dropout) for _ in range(3)
        )

    def forward(
        self, x: Tensor, memory: Tensor, mask: Mask | Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return both streams after the layer. Raises ValueError for a mask other than `Causal`
        and `Padding`.
        """
        real, causal = read_mask(mask, x.unsqueeze(1), "LunaBlock")
        if causal:
            x = self.attn_residual(
                x, lambda h: attend_causally(self.pack, self.unpack, h, memory, real)
            )
        else:
            packed = self.pack(
                memory, memory=x, memory_mask=None if real is None else Padding(real)
            )
            x = self.attn_residual(x, lambda h: self.unpack(h, memory=packed))
            memory = self.memory_residual(memory, lambda _: packed)
        return self.ff_residual(x, self.ff), memory


class LunaStack(Stack):
    """A stack of Luna blocks; the initial memory is a parameter, (n_slots, d_model).

    `both` returns both streams, `forward` only the tokens, as any `Stack`.
    """

    reads = ("mask", "positions")
    instead = (
        "Luna's memory is a parameter, and incremental decoding would need running sums of all "
        "previous states: call it on full sequences, and use a Stack for other states"
    )

    def __init__(
        self, make_block: Callable[[int], LunaBlock], n_layers: int, n_slots: int, d_model: int
    ) -> None:
        positive(n_slots=n_slots, d_model=d_model)
        memory = torch.randn(n_slots, d_model) * d_model**-0.5  # sampled before the blocks
        super().__init__(make_block, n_layers)
        self.memory = nn.Parameter(memory)

    def both(self, x: Tensor, mask: Mask | Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return tokens (B, T, d_model) and memory (B, n_slots, d_model) after all blocks."""
        memory = self.memory.expand(x.shape[0], -1, -1)
        for block in self.blocks:
            x, memory = block(x, memory, mask)
        return x, memory

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the tokens after all blocks; positions are not used."""
        return self.both(x, context.mask)[0]


def luna(
    d_model: int = 512,
    *,
    n_heads: int = 8,
    n_layers: int = 6,
    d_ff: int = 2048,
    n_slots: int = 16,
    dropout: float = 0.1,
) -> LunaStack:
    """Build a stack of the base Transformer's size with a memory of 16 vectors."""
    return LunaStack(
        lambda _layer: LunaBlock(d_model, n_heads, d_ff, dropout), n_layers, n_slots, d_model
    )


def tiny() -> LunaStack:
    """Return a small stack for tests: 2 layers, width 16, 4 heads, 3 memory vectors."""
    return luna(16, n_heads=4, n_layers=2, d_ff=32, n_slots=3, dropout=0.0)

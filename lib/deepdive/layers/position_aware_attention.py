"""Attention whose queries and keys know where they stand, while its values do not."""

from dataclasses import replace

import torch.nn.functional as F
from torch import Tensor

from deepdive.core import Context, MultiHeadAttention
from deepdive.core.multi_head import split_heads


class QKPositionAttention(MultiHeadAttention):
    """Positions are rows, added to what queries and keys are made of, in each layer anew.

        q = split((x + positions) @ W_q)
        k = split((memory + memory_positions) @ W_k),   v = split(memory @ W_v)

    Without a memory, memory = x, and its positions are those of x. Rows without positions make
    this a `MultiHeadAttention`. No cache: there is no step by step.
    Source: Carion et al. 2020, appendix A.3 and figure 10.
    """

    reads = ("mask", "positions", "memory", "memory_mask", "memory_positions")
    instead = "the patches of an image come all at once: leave the cache out"

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model). Positions (T, d_model) or (B, T, d_model), and those of the
        memory, of S rows, are added to x and to the memory. Raises ValueError for other shapes.
        """
        self.check_context(x, replace(context, positions=None, memory_positions=None))
        memory, mask, memory_positions = context.sources(x)
        q = self.queries(with_positions("positions", x, context.positions))
        w_k, w_v = self.kv.weight.chunk(2)
        b_k, b_v = (None, None) if self.kv.bias is None else self.kv.bias.chunk(2)
        named = with_positions("memory_positions", memory, memory_positions)
        k, v = (split_heads(F.linear(rows, w, b), self.n_kv_heads)
                for rows, w, b in ((named, w_k, b_k), (memory, w_v, b_v)))  # fmt: skip
        k, v = self.to_all_heads(k, v)
        return self.output(self.mechanism(q, k, self.values(v), mask, None, self.scale))


def with_positions(name: str, rows: Tensor, positions: Tensor | None) -> Tensor:
    """Return rows + positions. Raises ValueError for positions that are not as many such rows."""
    if positions is None:
        return rows
    if positions.shape not in (rows.shape[1:], rows.shape):
        raise ValueError(
            f"{name}: came {tuple(positions.shape)}, expected a row of numbers for each of the "
            f"rows {tuple(rows.shape)}"
        )
    return rows + positions

"""Attention whose queries and keys know where they stand, while its values do not."""

import torch.nn.functional as F
from torch import Tensor

from deepdive.attention import MultiHeadAttention
from deepdive.attention.cache import Slot
from deepdive.attention.multi_head import split_heads
from deepdive.masks import Mask


class PlacedAttention(MultiHeadAttention):
    """Positions are rows, added to what queries and keys are made of, in each layer anew.

        q = split((x + positions) @ W_q)
        k = split((context + context_positions) @ W_k),   v = split(context @ W_v)

    For self-attention context = x, and its positions are those of x. Rows without positions make
    this a `MultiHeadAttention`. No cache: there is no step by step.
    Source: Carion et al. 2020, appendix A.3 and figure 10.
    """

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Mask | Tensor | None = None,
        bias: Tensor | None = None,
        positions: Tensor | None = None,
        context_positions: Tensor | None = None,
        cache: Slot | None = None,
    ) -> Tensor:
        """Return (B, T, d_model). `positions` (T, d_model) or (B, T, d_model) and
        `context_positions`, of S rows, are added to x and to the context. Raises ValueError for a
        cache, and for positions that are no such rows.
        """
        self.check_rows(x, context)
        if cache is not None:
            raise ValueError("cache: rows of a picture come all at once; leave the cache out")
        if context is None:
            context, context_positions = x, positions
        q = self.queries(placed("positions", x, positions))
        w_k, w_v = self.kv.weight.chunk(2)
        b_k, b_v = (None, None) if self.kv.bias is None else self.kv.bias.chunk(2)
        named = placed("context_positions", context, context_positions)
        k, v = (split_heads(F.linear(rows, w, b), self.n_kv_heads)
                for rows, w, b in ((named, w_k, b_k), (context, w_v, b_v)))  # fmt: skip
        k, v = self.to_all_heads(k, v)
        return self.output(self.mechanism(q, k, self.values(v), mask, bias, self.scale))


def placed(name: str, rows: Tensor, positions: Tensor | None) -> Tensor:
    """Return rows + positions. Raises ValueError for positions that are not as many such rows."""
    if positions is None:
        return rows
    if positions.shape not in (rows.shape[1:], rows.shape):
        raise ValueError(
            f"{name}: came {tuple(positions.shape)}, expected a row of numbers for each of the "
            f"rows {tuple(rows.shape)}"
        )
    return rows + positions

"""DETR's attention: position embeddings are added to queries and keys, not to values."""

from dataclasses import replace

import torch.nn.functional as F
from torch import Tensor

from deepdive.core import Context, MultiHeadAttention
from deepdive.core.multi_head import split_heads


class QKPositionAttention(MultiHeadAttention):
    """Position embeddings are added to the inputs of queries and keys, in each layer.

        q = split((x + positions) @ W_q)
        k = split((memory + memory_positions) @ W_k),   v = split(memory @ W_v)

    Without a memory, memory = x, and its positions are those of x. Without positions this is
    `MultiHeadAttention`. No cache: there is no step-by-step decoding.
    Source: Carion et al. 2020, appendix A.3 and figure 10.
    """

    reads = ("mask", "positions", "memory", "memory_mask", "memory_positions")
    instead = "the patches of an image are processed at once: do not pass a cache"

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model). Positions (T, d_model) or (B, T, d_model), and those of the
        memory, of length S, are added to x and to the memory. Raises ValueError for other shapes.
        """
        self.check_context(x, replace(context, positions=None, memory_positions=None))
        memory, mask, memory_positions = context.sources(x)
        q = self.queries(with_positions("positions", x, context.positions))
        w_k, w_v = self.kv.weight.chunk(2)
        b_k, b_v = (None, None) if self.kv.bias is None else self.kv.bias.chunk(2)
        positioned = with_positions("memory_positions", memory, memory_positions)
        k, v = (split_heads(F.linear(inputs, w, b), self.n_kv_heads)
                for inputs, w, b in ((positioned, w_k, b_k), (memory, w_v, b_v)))  # fmt: skip
        k, v = self.to_all_heads(k, v)
        return self.output(self.mechanism(q, k, self.values(v), mask, None, self.scale))


def with_positions(name: str, x: Tensor, positions: Tensor | None) -> Tensor:
    """Return x + positions. Raises ValueError for positions of another shape."""
    if positions is None:
        return x
    if positions.shape not in (x.shape[1:], x.shape):
        raise ValueError(
            f"{name}: got {tuple(positions.shape)}, expected a vector for each position of "
            f"{tuple(x.shape)}"
        )
    return x + positions

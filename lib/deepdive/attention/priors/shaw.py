"""Shaw's relative position representations, in the values; with `ShawPosition`, all of them.

System: shaw_relative
Parent: self_attention
What differs:
- a trained vector for the offset is added to each key (`ShawPosition`, a bias)
- another is added to each value (`ShawAttention.mix`)
- offsets beyond `left` and `right` are clipped to them: the length is unlimited
- there are no absolute positions: the embeddings have none
Source: Shaw, Uszkoreit and Vaswani 2018, "Self-Attention with Relative Position Representations".
Book: KAIST deck 3
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.softmax import SoftmaxAttention


class ShawAttention(SoftmaxAttention):
    """Softmax attention with a trained vector for the offset added to each value.

        output[t] = sum over s of weights[t, s] * (v_s + values[clip(s - t, -left, right)])

    The weights are summed by offset, (B, H, T, left + 1 + right), and multiplied by `values`
    (left + 1 + right, d_head), shared by all heads: no vector per pair is computed. Queries are the
    last T of the S keys; other positions (`positions=`) affect the scores, not this part.
    The scores come with `deepdive.positions.ShawPosition`.
    Raises ValueError when left or right is negative, for more queries than keys, and (in
    `MultiHeadAttention`) for a memory.
    Source: Shaw, Uszkoreit and Vaswani 2018, sections 3.1 to 3.3.
    """

    right_aligned = True
    queries = "last"

    def __init__(
        self, d_head: int, left: int, right: int | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__(dropout)
        positive(d_head=d_head)
        right = left if right is None else right
        if left < 0 or right < 0:
            raise ValueError(f"left={left}, right={right}: expected the largest offsets, 0 or more")
        self.left, self.right = left, right
        self.values = nn.Parameter(torch.empty(left + 1 + right, d_head))
        nn.init.xavier_uniform_(self.values)

    def extra_repr(self) -> str:
        return f"left={self.left}, right={self.right}"

    def mix(self, weights: Tensor, v: Tensor) -> Tensor:
        """Return weights @ v plus the offsets' vectors, (B, H, T, d_head)."""
        return weights @ v + self._by_offset(weights) @ self.values

    def _by_offset(self, weights: Tensor) -> Tensor:
        """Return the weights (..., T, S) summed by clipped offset, (..., T, left + 1 + right)."""
        T, S = weights.shape[-2:]
        if T > S:
            raise ValueError(
                f"{T} queries for {S} keys: queries are the last of the keys, so that each value "
                "has an offset; give as many keys, or use SoftmaxAttention"
            )
        keys = torch.arange(S, device=weights.device)
        column = (keys - keys[S - T :, None]).clamp(-self.left, self.right) + self.left  # (T, S)
        summed = weights.new_zeros(*weights.shape[:-1], self.left + 1 + self.right)
        return summed.scatter_add(-1, column.expand(weights.shape), weights)

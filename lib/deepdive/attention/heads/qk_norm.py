"""Multi-head attention with normalized queries and keys (QK-norm)."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from deepdive.core.multi_head import MultiHeadAttention


class QKNormAttention(MultiHeadAttention):
    """q = q_norm(split(x @ W_q)), k = k_norm(split(x @ W_k)): each head's query and key is
    normalized before the position rotates it; the rest as in `MultiHeadAttention`.

    `norm` builds a norm from d_head, such as `RMSNorm`; all heads of a layer share its weights. A
    query's length no longer depends on the hidden state's, so the scores cannot grow with it.
    Source: Dehghani et al. 2023, section 2 (layer norm); Yang et al. 2025 (Qwen3), section 2.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, norm: Callable[[int], nn.Module], **options: Any
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        self.q_norm, self.k_norm = norm(self.d_head), norm(self.d_head)

    def queries(self, x: Tensor) -> Tensor:
        """Return the normalized queries (B, H, T, d_head) of x (B, T, d_model)."""
        normed: Tensor = self.q_norm(super().queries(x))
        return normed

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return normalized keys, and values, two of (B, n_kv_heads, S, d_head), for states (B, S,
        d_context).
        """
        k, v = super().keys_and_values(states)
        return self.k_norm(k), v

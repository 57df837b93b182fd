"""Persistent memory vectors: learned keys and values that join those of the tokens."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import not_negative, positive
from deepdive.core.softmax import SoftmaxAttention


class PersistentMemoryAttention(SoftmaxAttention):
    """Softmax attention over the tokens and over `n_slots` learned key-value vectors per head.

        k, v   = [k; sqrt(d_head) * memory_keys], [v; sqrt(n_slots) * memory_values]
        output = softmax(scale * q @ k^T + bias) @ v            # one softmax over S + n_slots keys

    Every query attends to every persistent vector: mask and bias are about the S tokens only. The
    vectors are parameters, so a cache holds only the tokens' keys and values. Effective keys and
    values are standard normal at initialization; the parameters are these divided by the two roots
    above, as in the released code. With n_slots = 0 this is `SoftmaxAttention`. Hook points:
    `scores`, `weights` (B, H, T, S + n_slots), persistent vectors last.

    Raises ValueError when a size is not positive, n_slots is negative, or a value is not d_head
    wide.
    Source: Sukhbaatar et al. 2019, section 4, and their released code (persistent_memory.py).
    """

    def __init__(self, n_heads: int, n_slots: int, d_head: int, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        positive(n_heads=n_heads, d_head=d_head)
        not_negative(n_slots=n_slots)
        self.n_heads, self.n_slots, self.d_head = n_heads, n_slots, d_head
        self.roots = math.sqrt(d_head), math.sqrt(max(n_slots, 1))
        keys, values = (torch.randn(n_heads, n_slots, d_head) for _ in range(2))
        self.memory_keys = nn.Parameter(keys / self.roots[0])
        self.memory_values = nn.Parameter(values / self.roots[1])

    def extra_repr(self) -> str:
        return f"n_heads={self.n_heads}, n_slots={self.n_slots}, d_head={self.d_head}"

    def check(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        """Raise ValueError unless the values have the width of the persistent values."""
        if v.shape[-1] != self.d_head:
            raise ValueError(
                f"v is {v.shape[-1]} wide, but the persistent values are {self.d_head} wide: build "
                f"a PersistentMemoryAttention with d_head={v.shape[-1]}"
            )

    def steps(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        allowed: Tensor | None,
        bias: Tensor | None,
        scale: float,
    ) -> Tensor:
        """Return the output of the three steps over S + n_slots keys."""
        B, S = k.shape[0], k.shape[2]
        keys, values = self.roots[0] * self.memory_keys, self.roots[1] * self.memory_values
        k = torch.cat((k, keys.expand(B, -1, -1, -1)), 2)  # (B, H, S + n_slots, d_head)
        v = torch.cat((v, values.expand(B, -1, -1, -1)), 2)
        return super().steps(
            q, k, v, self._widened(allowed, S, True), self._widened(bias, S, 0.0), scale
        )

    def _widened(self, pairs: Tensor | None, S: int, value: float) -> Tensor | None:
        """Return a mask or bias (..., S or 1) as (..., S + n_slots), `value` for the new keys."""
        if pairs is None:
            return None
        return F.pad(pairs.expand(*pairs.shape[:-1], S), (0, self.n_slots), value=value)

"""Attention of a text and of rows ahead of it, in streams of which each has read a token less."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention import MultiHeadAttention, Slot
from deepdive.checks import not_negative
from deepdive.masks import Mask
from deepdive.positions.t5 import widening


@dataclass(frozen=True)
class Futures(Mask):
    """What the T rows of a text and the T rows of each of n streams may read: (1 + n) T queries.
    The keys are all tokens so far, then the rows of the streams.

    Token t sees tokens 0 .. t; row t of stream j = 0, 1 ... sees 0 .. t - j (0 always), and itself.
    """

    n: int

    def __post_init__(self) -> None:
        not_negative(n=self.n)

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        each = T // (1 + self.n)
        unread = T - each
        at = torch.arange(S - T, S - unread, device=device)  # the last tokens so far
        last = torch.cat((at, *(at - j for j in range(self.n)))).clamp(min=0)
        read = torch.arange(S - unread, device=device) <= last[:, None]
        own = torch.eye(unread, dtype=torch.bool, device=device)
        return torch.cat((read, F.pad(own, (0, 0, each, 0))), 1)[None, None]


class FutureAttention(MultiHeadAttention):
    """Self-attention of a text and of the streams that stand one place ahead, (B, (1 + n) T,
    d_model); n is what its mask says (`Futures`), or 0. A cache keeps the text alone.

        bias[h, t, s] = (x_t @ W_r)[bucket(s - t), h]

    Buckets are those of `deepdive.positions.CausalT5Bias`.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_buckets: int = 32,
        max_distance: int = 128,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(d_model, n_heads, dropout=dropout)
        if n_buckets < 2 or n_buckets % 2 or max_distance <= n_buckets // 2:
            raise ValueError(
                f"n_buckets={n_buckets}, max_distance={max_distance}: buckets must be even, and "
                f"the distance above the {n_buckets // 2} that have one each"
            )
        self.n_buckets, self.max_distance = n_buckets, max_distance
        self.relative = nn.Linear(d_model, n_buckets * n_heads)

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
        """Return (B, (1 + n) T, d_model); `positions` (T,) or (B, T) are those of the text."""
        if context is not None or context_positions is not None or bias is not None:
            raise ValueError("context and bias: these rows read their own text, by their own bias")
        self.check_rows(x, None)
        parts = getattr(mask, "parts", ())
        n = next((part.n for part in parts if isinstance(part, Futures)), 0)
        T, slot = x.shape[1] // (1 + n), Slot() if cache is None else cache
        at = slot.places.after(positions, T, x.device)
        slot.places = slot.places.plus(positions, T, x.device)
        q, (k, v) = self.queries(x), self.keys_and_values(x)
        text = k[:, :, :T], v[:, :, :T]
        if cache is not None:
            text = cache.append(*text)
        k, v = (torch.cat((a, b[:, :, T:]), 2) for a, b in zip(text, (k, v), strict=True))
        ahead = [at + 1] * n
        k_at = torch.cat((slot.places.all(x.device), *ahead), -1)
        worth = self.worth(x, torch.cat((at, *ahead), -1), k_at)
        return self.output(self.mechanism(q, k, self.values(v), mask, worth, self.scale))

    def worth(self, x: Tensor, q_at: Tensor, k_at: Tensor) -> Tensor:
        """Return what the distance of each key is worth to each row, (B, H, R, S)."""
        behind = (q_at[..., :, None] - k_at[..., None, :]).clamp(min=0)
        bucket = widening(behind, self.n_buckets, self.max_distance)  # (R, S) or (B, R, S)
        worth = self.relative(x).unflatten(-1, (self.n_buckets, self.n_heads)).permute(0, 3, 1, 2)
        bucket = bucket if bucket.ndim == 2 else bucket[:, None]
        found: Tensor = worth.gather(-1, bucket.expand(*worth.shape[:3], -1))
        return found

"""ProphetNet's n-stream self-attention: a text, and streams that predict future tokens."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Context, MultiHeadAttention
from deepdive.core.checks import not_negative
from deepdive.core.masks import Mask
from deepdive.core.position import query_positions
from deepdive.positions.t5 import widening


@dataclass(frozen=True)
class Futures(Mask):
    """The mask of the T tokens of a text and the T states of each of n streams: (1 + n) T queries.
    The keys are all tokens so far, then the states of the streams.

    Token t attends to 0 .. t; state t of stream j = 0, 1 ... to 0 .. t - j (0 always), and itself.
    """

    n: int

    def __post_init__(self) -> None:
        not_negative(n=self.n)

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        text_length = T // (1 + self.n)
        stream_length = T - text_length
        at = torch.arange(S - T, S - stream_length, device=device)  # the last tokens so far
        last = torch.cat((at, *(at - j for j in range(self.n)))).clamp(min=0)
        to_text = torch.arange(S - stream_length, device=device) <= last[:, None]
        to_self = torch.eye(stream_length, dtype=torch.bool, device=device)
        return torch.cat((to_text, F.pad(to_self, (0, 0, text_length, 0))), 1)[None, None]


class FutureAttention(MultiHeadAttention):
    """Self-attention of a text and of the streams, one position ahead of it, (B, (1 + n) T,
    d_model); n is that of its mask (`Futures`), or 0. A cache stores only the text.

        bias[h, t, s] = (x_t @ W_r)[bucket(s - t), h]

    Buckets are those of `deepdive.positions.CausalT5Bias`. Tokens are counted from the cache's
    length.
    """

    reads = ("mask", "cache")
    instead = "the streams attend to the full sequence only, with their own relative bias"

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
                f"n_buckets={n_buckets}, max_distance={max_distance}: n_buckets must be even, "
                f"and max_distance above {n_buckets // 2}, the exact distances"
            )
        self.n_buckets, self.max_distance = n_buckets, max_distance
        self.relative = nn.Linear(d_model, n_buckets * n_heads)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, (1 + n) T, d_model)."""
        self.check_context(x, context)
        parts, slot = getattr(context.mask, "parts", ()), context.slot
        n = next((part.n for part in parts if isinstance(part, Futures)), 0)
        T = x.shape[1] // (1 + n)
        at = query_positions(x[:, :T], context)
        q, (k, v) = self.queries(x), self.keys_and_values(x)
        text = k[:, :, :T], v[:, :, :T]
        if slot is not None:
            text = slot.append(*text)
        k, v = (torch.cat((a, b[:, :, T:]), 2) for a, b in zip(text, (k, v), strict=True))
        ahead = [at + 1] * n
        k_at = torch.cat((torch.arange(text[0].shape[2], device=x.device), *ahead))
        bias = self.worth(x, torch.cat((at, *ahead)), k_at)
        return self.output(self.mechanism(q, k, self.values(v), context.mask, bias, self.scale))

    def worth(self, x: Tensor, q_at: Tensor, k_at: Tensor) -> Tensor:
        """Return the relative position bias of each key for each query, (B, H, R, S)."""
        behind = (q_at[..., :, None] - k_at[..., None, :]).clamp(min=0)
        bucket = widening(behind, self.n_buckets, self.max_distance)  # (R, S) or (B, R, S)
        values = self.relative(x).unflatten(-1, (self.n_buckets, self.n_heads)).permute(0, 3, 1, 2)
        bucket = bucket if bucket.ndim == 2 else bucket[:, None]
        bias: Tensor = values.gather(-1, bucket.expand(*values.shape[:3], -1))
        return bias

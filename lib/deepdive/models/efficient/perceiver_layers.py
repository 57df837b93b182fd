"""Layers of Perceiver: latents that read foreign rows, or each other."""

from __future__ import annotations

from torch import Tensor, nn

from deepdive.attention import MultiHeadAttention
from deepdive.checks import positive
from deepdive.fast.linear import Linear
from deepdive.layers import FeedForward, LayerNorm, PreNorm, gelu
from deepdive.masks import Mask


class ChannelAttention(MultiHeadAttention):
    """Multi-head attention whose scores and values have widths of their own.

    q, k are (B, H, T, d_scores / H), v is (B, H, S, d_values / H); scores are divided by
    sqrt(d_scores / H). Without `d_scores` it is as wide as the rows that are read, and `d_values`
    as it. Raises ValueError when the heads divide one of them not.
    Source: Jaegle et al. 2022, and the released code.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_scores: int | None = None,
        d_values: int | None = None,
        *,
        d_context: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        positive(n_heads=n_heads, d_scores=d_scores, d_values=d_values)
        d_scores = d_scores or d_context or d_model
        d_values = d_values or d_scores
        if d_scores % n_heads or d_values % n_heads:
            raise ValueError(
                f"n_heads={n_heads} does not divide d_scores={d_scores} and d_values={d_values}: "
                "choose a divisor of both"
            )
        super().__init__(
            d_model, n_heads, d_head=d_scores // n_heads, d_context=d_context, dropout=dropout
        )
        self.widths = (d_scores, d_values)
        self.kv = Linear(self.d_context, d_scores + d_values)
        self.out = Linear(d_values, d_model)
        for weight in (*self.kv.weight.split(self.widths), self.out.weight):
            nn.init.xavier_uniform_(weight)
        for layer in (self.kv, self.out):
            nn.init.zeros_(layer.bias)

    def keys_and_values(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        parts = self.kv(rows).split(self.widths, dim=-1)
        k, v = (part.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for part in parts)
        return k, v


class LatentLayer(nn.Module):
    """x + attn(norm(x), norm(y)), then x + ff(norm(x)): a pre-norm block that may read foreign rows
    y under a norm of their own.
    """

    def __init__(self, attn: ChannelAttention, d_ff: int, d_context: int | None = None) -> None:
        super().__init__()
        positive(d_context=d_context)
        self.attn, self.d_model = attn, attn.d_model
        self.context_norm = None if d_context is None else LayerNorm(d_context)
        self.attn_residual, self.ff_residual = PreNorm(self.d_model), PreNorm(self.d_model)
        self.ff = FeedForward(self.d_model, d_ff, gelu)

    def forward(
        self, x: Tensor, context: Tensor | None = None, mask: Mask | Tensor | None = None
    ) -> Tensor:
        """Return x (B, T, d_model) after the layer. Raises ValueError when a layer that reads
        foreign rows has none, or another has them.
        """
        if (context is None) != (self.context_norm is None):
            raise ValueError(
                "context: a layer built with d_context reads foreign rows (B, S, d_context), and "
                "any other reads its own"
            )
        if context is not None and self.context_norm is not None:
            context = self.context_norm(context)
        x = self.attn_residual(x, lambda rows: self.attn(rows, context, mask=mask))
        return self.ff_residual(x, self.ff)

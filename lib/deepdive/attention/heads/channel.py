"""Heads whose scores are of another width than the rows, and whose values of yet another."""

from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.multi_head import MultiHeadAttention


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
        self.kv = nn.Linear(self.d_context, d_scores + d_values)
        self.out = nn.Linear(d_values, d_model)
        for weight in (*self.kv.weight.split(self.widths), self.out.weight):
            nn.init.xavier_uniform_(weight)
        for layer in (self.kv, self.out):
            nn.init.zeros_(layer.bias)

    def keys_and_values(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        parts = self.kv(rows).split(self.widths, dim=-1)
        k, v = (part.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for part in parts)
        return k, v

"""Multi-head attention with separate widths of scores and values (Perceiver)."""

from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.multi_head import MultiHeadAttention


class ChannelAttention(MultiHeadAttention):
    """Multi-head attention with separate widths of scores (`d_scores`) and values (`d_values`).

    q, k are (B, H, T, d_scores / H), v is (B, H, S, d_values / H); scores are divided by
    sqrt(d_scores / H). By default `d_scores` is the width of the memory, or d_model, and `d_values`
    is d_scores. Raises ValueError when the heads do not divide both.
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

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        parts = self.kv(states).split(self.widths, dim=-1)
        k, v = (part.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for part in parts)
        return k, v

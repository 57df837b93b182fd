"""Multi-head latent attention (MLA): the cache stores one short latent vector per token, from which
all heads project their keys and values. DeepSeek-AI 2024, "DeepSeek-V2".
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.multi_head import MultiHeadAttention, split_heads
from deepdive.core.norms import RMSNorm
from deepdive.positions import TailRotaryPosition


class LatentAttention(MultiHeadAttention):
    """Multi-head attention whose keys and values are projected from a latent of `rank` numbers.

        c      = norm(x @ W_down)                             # (B, S, rank): the latent, cached
        r      = rotate(x @ W_r)                              # (B, S, d_rotary): one key for all
        k, v   = split(c @ W_up), with r behind every head's key      # (B, H, S, d_head), ...
        q      = split(x @ W_q), its last d_rotary entries rotated

    A rotation between W_up and the query would have to be recomputed for every key, so positions
    have separate entries, which do not come from the latent. `q_rank` projects queries from a
    latent too, which saves weights and no cache. What differs from `MultiHeadAttention` is what is
    cached (`keys_and_values`) and when it is projected up (`to_all_heads`): rank + d_rotary numbers
    per token, instead of 2 n_heads d_head.
    Source: DeepSeek-AI 2024, sections 2.1.2 and 2.1.3.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, d_head: int, rank: int, d_rotary: int,
        q_rank: int | None = None, base: float = 10_000.0, dropout: float = 0.0,
    ) -> None:  # fmt: skip
        positive(d_head=d_head, rank=rank, d_rotary=d_rotary, q_rank=q_rank)
        super().__init__(
            d_model, n_heads, d_head=d_head, bias=False, dropout=dropout,
            scale=(d_head + d_rotary) ** -0.5, position=TailRotaryPosition(d_rotary, base),
        )  # fmt: skip
        self.rank, self.d_rotary = rank, d_rotary
        width = n_heads * (d_head + d_rotary)
        self.q = nn.Linear(d_model, width, bias=False)
        if q_rank is not None:
            down, up = nn.Linear(d_model, q_rank, bias=False), nn.Linear(q_rank, width, bias=False)
            self.q = nn.Sequential(down, RMSNorm(q_rank), up)  # type: ignore[assignment]
        self.kv = nn.Linear(d_model, rank + d_rotary, bias=False)
        self.norm, self.up = RMSNorm(rank), nn.Linear(rank, 2 * n_heads * d_head, bias=False)
        for matrix in (p for p in self.parameters() if p.ndim == 2):
            nn.init.xavier_uniform_(matrix)

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return what a cache stores: the rotary key (B, 1, S, d_rotary), the latent (B, 1, S,
        rank).
        """
        latent, rotary = self.kv(states).split([self.rank, self.d_rotary], dim=-1)
        return rotary.unsqueeze(1), self.norm(latent).unsqueeze(1)

    def rotated(self, q: Tensor, k: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys separately: a key is stored as its rotary entries only."""
        assert self.position is not None
        return self.position.rotate(q, at), self.position.rotate(k, at)

    def to_all_heads(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys (B, H, S, d_head + d_rotary) and values (B, H, S, d_head) of all heads."""
        projected = split_heads(self.up(v.squeeze(1)), self.n_heads)
        keys, values = projected.split(self.d_head, dim=-1)
        return torch.cat([keys, k.expand(-1, self.n_heads, -1, -1)], dim=-1), values


class AbsorbedLatentAttention(LatentAttention):
    """`LatentAttention` without up-projection of its cache: query and output absorb W_up.

        q . (W_k c) = (W_k^T q) . c,     sum_s w_s (W_v c_s) = W_v sum_s w_s c_s

    All heads then share the cached states, as in multi-query attention: rank + d_rotary numbers of
    a token for its key, and the first rank of these for its value. The outputs are the same.
    Source: DeepSeek-AI 2024, section 2.1.2 and appendix C.
    """

    def halves(self) -> tuple[Tensor, Tensor]:
        """Return W_k and W_v, each (H, d_head, rank)."""
        k, v = self.up.weight.unflatten(0, (self.n_heads, 2, self.d_head)).unbind(1)
        return k, v

    def queries(self, x: Tensor) -> Tensor:
        """Return W_k^T q, with the rotary entries behind it, (B, H, T, rank + d_rotary)."""
        q, rotary = super().queries(x).split([self.d_head, self.d_rotary], dim=-1)
        return torch.cat([q @ self.halves()[0], rotary], dim=-1)

    def to_all_heads(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cache as it is, for all heads."""
        return tuple(  # type: ignore[return-value]
            x.expand(-1, self.n_heads, -1, -1) for x in (torch.cat([v, k], dim=-1), v)
        )

    def output(self, heads: Tensor) -> Tensor:
        """Return join(heads @ W_v^T) @ W_out, (B, T, d_model), for heads (B, H, T, rank)."""
        return super().output(heads @ self.halves()[1].mT)

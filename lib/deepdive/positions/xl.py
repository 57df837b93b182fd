"""Transformer-XL's relative positional encoding: two query biases, and sinusoids of the offset."""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.positions.relative import RelativePosition
from deepdive.positions.sinusoidal import SinusoidalPosition


class XLPosition(RelativePosition):
    """A score of four terms: the key's content and relative position, times the query and a bias.

        scores[t, s] = scale * (q_t . k_s + q_t . r_{t - s} + u . k_s + v . r_{t - s})
        r_d          = W waves(d), split into heads                        # (H, d_head)

    The first term is computed by attention; the bias is the other three, (q_t + v) . r_{t - s} on
    the diagonals, u . k_s one number per key. u and v are (H, d_head), `W` maps d_model to
    H * d_head. Keys may outnumber queries: states cached from an earlier segment come first.

    `waves` encodes an offset, `SinusoidalPosition(d_model)` by default; `scale` is that of the
    scores, 1 / sqrt(d_head). `ahead` = False is the causal form, which computes no offset below 0
    and gives keys ahead minus infinity; distances above `longest` count as `longest`. A block has
    its own u and v; in the paper all layers share them (`transformer_xl`).
    Source: Dai et al. 2019, section 3.3 and appendix B.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int | None = None,
        waves: SinusoidalPosition | None = None,
        scale: float | None = None,
        ahead: bool = True,
        longest: int | None = None,
    ) -> None:
        super().__init__()
        positive(longest=longest)
        if d_head is None and d_model % n_heads:
            raise ValueError(
                f"n_heads={n_heads} does not divide d_model={d_model}: choose a divisor, or give "
                "d_head"
            )
        d_head = d_model // n_heads if d_head is None else d_head
        self.waves = SinusoidalPosition(d_model) if waves is None else waves
        self.n_heads, self.d_head = n_heads, d_head
        self.scale = d_head**-0.5 if scale is None else scale
        self.ahead, self.longest = ahead, longest
        self.W = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.u = nn.Parameter(torch.zeros(n_heads, d_head))
        self.v = nn.Parameter(torch.zeros(n_heads, d_head))
        nn.init.xavier_uniform_(self.W.weight)

    def worth(self, q: Tensor, offsets: Tensor) -> Tensor:
        """Return scale * (q + v) . r, (B, H, T, L), for offsets k - q = -d."""
        distances = -offsets if self.longest is None else (-offsets).clamp(max=self.longest)
        r = self.W(self.waves.table(distances).to(q.dtype)).unflatten(-1, self.u.shape)
        return self.scale * (q + self.v[:, None]) @ r.permute(1, 2, 0)  # r: (L, H, d_head)

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return the three terms that are not q . k, (B, H, T, S)."""
        relative = super().bias(q, k, q_positions, k_positions)
        return relative + self.scale * self.u[:, None] @ k.transpose(-2, -1)  # (B, H, 1, S)


class RelativeSegments(nn.Module):
    """XLNet's relative segment encodings: a bias for a key of the query's segment, or of another.

        bias[t, s] = scale * (q_t + w) . e[differ[t, s]]     # differ: 0 in one segment, 1 in two

    w is (H, d_head), e is (2, H, d_head). Segments have no numbers, so there may be any number.
    Source: Yang et al. 2019, section 2.5.
    """

    def __init__(self, n_heads: int, d_head: int) -> None:
        super().__init__()
        positive(n_heads=n_heads, d_head=d_head)
        self.w = nn.Parameter(torch.zeros(n_heads, d_head))
        self.e = nn.Parameter(0.02 * torch.randn(2, n_heads, d_head))

    def forward(self, q: Tensor, differ: Tensor) -> Tensor:
        """Return the bias (B, H, T, S) for q (B, H, T, d_head) and differ, bool (B, T, S)."""
        scores = (q + self.w[:, None]) @ self.e.permute(1, 2, 0) * q.shape[-1] ** -0.5
        return torch.where(differ[:, None], scores[..., 1:], scores[..., :1])

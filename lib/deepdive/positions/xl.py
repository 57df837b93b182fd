"""Transformer-XL's relative positional encoding: two query biases, and sinusoids of the offset."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.positions.relative import RelativePosition
from deepdive.positions.sinusoidal import BlockedSinusoidalPosition, SinusoidalPosition


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


class PooledXLPosition(XLPosition):
    """`XLPosition` for pooled sequences: positions are evenly spaced, and [CLS] has none.

        bias[t, s] = XLPosition's, without v . r and q . r where t or s is [CLS]

    [CLS] has position 0, and less after pooling; other positions are above 0. A query's
    step may be a multiple of the keys': pooled queries attend to states that aren't pooled. Uneven
    positions are gathered, as in `RelativePosition`. `separate_cls` False: [CLS] is a token.
    Source: Dai et al. 2020 (Funnel), appendix A.2, and their released code.
    """

    def __init__(
        self, d_model: int, n_heads: int, d_head: int | None = None, separate_cls: bool = True
    ) -> None:
        super().__init__(d_model, n_heads, d_head, waves=BlockedSinusoidalPosition(d_model))
        self.separate_cls = separate_cls

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return the three terms that are not q . k, (B, H, T, S)."""
        relative = self.laid(self.worth, q, k, q_positions, k_positions)
        relative = self.without_cls(relative, q_positions, k_positions)
        return relative + self.scale * self.u[:, None] @ k.transpose(-2, -1)

    def without_cls(self, terms: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return `terms` (B, H, T, S) with 0 where the query or the key is [CLS]."""
        if not self.separate_cls:
            return terms
        apart = (q_positions <= 0).unsqueeze(-1) | (k_positions <= 0).unsqueeze(-2)
        return terms.masked_fill(apart if apart.ndim == 2 else apart.unsqueeze(1), 0.0)

    def laid(
        self,
        function: Callable[[Tensor, Tensor], Tensor],
        q: Tensor,
        k: Tensor,
        q_positions: Tensor,
        k_positions: Tensor,
    ) -> Tensor:
        """Return `function(q, offsets)` for each pair's offset, (B, H, T, S)."""
        self.check_pairs(q, k, q_positions, k_positions)
        steps = even_steps(q_positions, k_positions)
        if steps is None:
            return super().laid(function, q, k, q_positions, k_positions)
        (stride, step), (T, S) = steps, (q.shape[-2], k.shape[-2])
        columns = torch.arange((T - 1) * step + S, device=q.device)
        products = function(q, k_positions[0] - q_positions[-1] + stride * columns)
        return shifted(products.expand(*products.shape[:-2], T, -1), S, step)


def shifted(products: Tensor, n_columns: int, step: int = 1) -> Tensor:
    """Return row t of (..., T, L) from column step * (T - 1 - t) on, (..., T, n_columns).

    Read in rows that are `step` numbers shorter, row t starts `step` columns earlier: no number is
    copied. Raises ValueError unless L is at least step * (T - 1) + n_columns.
    """
    T, L = products.shape[-2:]
    if step * (T - 1) + n_columns > L:
        raise ValueError(
            f"n_columns={n_columns}: {T} rows of {L} columns have fewer at step={step}"
        )
    if T == 1:
        return products[..., :n_columns]
    flat = products.flatten(-2)[..., step * (T - 1) : T * L - step]
    return flat.unflatten(-1, (T, L - step))[..., :n_columns]


def even_steps(q_positions: Tensor, k_positions: Tensor) -> tuple[int, int] | None:
    """Return the keys' stride and the queries' stride divided by it, for positions (T,) and (S,)
    that are evenly spaced; None for others.
    """
    if q_positions.ndim > 1 or k_positions.ndim > 1:
        return None
    strides = [sorted(set(p.diff().tolist())) for p in (k_positions, q_positions)]
    if any(len(each) > 1 for each in strides):
        return None
    stride = strides[0][0] if strides[0] else 1
    step, rest = divmod(strides[1][0] if strides[1] else stride, stride) if stride else (0, 1)
    return (stride, step) if stride > 0 and step > 0 and not rest else None

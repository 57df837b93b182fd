"""DeBERTa's relative positions: a place asks contents, and a content asks places."""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.positions.relative import RelativePosition, offsets


class RelativeRows(nn.Module):
    """A learned row as wide as the stream for each distance t - s, which all layers share.

        row(t - s) = table[clip(t - s + reach, 0, 2 * reach - 1)]

    All distances from `reach` on are one. Raises ValueError when reach is below 1.
    Source: He et al. 2021, section 3.1, equation 3.
    """

    def __init__(self, d_model: int, reach: int) -> None:
        super().__init__()
        positive(d_model=d_model, reach=reach)
        self.reach = reach
        self.table = nn.Embedding(2 * reach, d_model)
        nn.init.normal_(self.table.weight, std=0.02)

    def index(self, distances: Tensor) -> Tensor:
        """Return which row is that of each integer distance; it never falls as they grow."""
        return (distances + self.reach).clamp(0, 2 * self.reach - 1)

    def forward(self) -> Tensor:
        """Return all rows, (2 * reach, d_model)."""
        return self.table.weight


class BucketedRows(RelativeRows):
    """`RelativeRows` of buckets that widen with the distance; `norm` maps each row to a row.

    For distances up to m = n_buckets / 2 each has a row; beyond, d falls in bucket

        m + ceil(log(d / m) / log((farthest - 1) / m) * (m - 1))

    Raises ValueError unless n_buckets is even and farthest exceeds half of them by 2.
    Source: the released code of He et al. 2021, version 2.
    """

    def __init__(self, d_model: int, n_buckets: int, farthest: int, norm: nn.Module) -> None:
        super().__init__(d_model, n_buckets)
        self.middle, self.farthest = n_buckets // 2, farthest
        if n_buckets % 2 or farthest - 1 <= self.middle:
            raise ValueError(
                f"n_buckets={n_buckets}, farthest={farthest}: buckets must be an even number, "
                f"and the farthest distance {self.middle + 2} at least"
            )
        self.norm = norm

    def index(self, distances: Tensor) -> Tensor:
        """Return the row of each distance's bucket. In float32, as the checkpoints were trained:
        where a bucket begins is a matter of rounding.
        """
        far = distances.abs().clamp(min=self.middle).float() / self.middle
        widest = torch.tensor((self.farthest - 1) / self.middle, dtype=torch.float32).log()
        bucket = torch.ceil(far.log() / widest.to(far.device) * (self.middle - 1)) + self.middle
        near = distances.abs() <= self.middle
        return super().index(torch.where(near, distances, bucket.long() * distances.sign()))

    def forward(self) -> Tensor:
        """Return all rows, normalised, (2 * n_buckets, d_model)."""
        return self.norm(self.table.weight)


class DisentangledPosition(RelativePosition):
    """A score of three terms: content with content, content with place, place with content.

        scores[t, s] = scale * (q_t . k_s + q_t . keys(r) + k_s . queries(r))
        r            = rows(t - s)                              # (d_model,), then split into heads

    The first term is attention's own, whose scale must be this one, 1 / sqrt(3 d_head) by default:
    each term adds its variance. `keys` and `queries` map rows (n, d_model) to (n, H * d_head).
    Nothing of size T x S x d_head is made: a row is multiplied once, a pair takes its product.
    `dropout` acts on the rows. The paper's equation 4 has the row of s - t in the last term; the
    released code, and so the weights trained by it, have that of t - s.
    Source: He et al. 2021, section 3.1, equations 2 to 4, and their released code.
    """

    def __init__(
        self,
        rows: RelativeRows,
        keys: nn.Module,
        queries: nn.Module,
        n_heads: int,
        d_head: int,
        dropout: float = 0.0,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        positive(n_heads=n_heads, d_head=d_head)
        self.n_heads, self.d_head = n_heads, d_head
        self.scale = disentangled_scale(d_head) if scale is None else scale
        self.rows, self.keys, self.queries = rows, keys, queries
        self.dropout = nn.Dropout(dropout)

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Return the two terms that know of places, (B, H, T, S)."""
        self.check_pairs(q, k, q_positions, k_positions)
        rows, distances = self.dropout(self.rows()), -offsets(q_positions, k_positions)
        to_place = self.placed(self.scale * q, self.keys, rows, distances)
        across = distances.transpose(-2, -1)  # here a key asks, of the same t - s
        from_place = self.placed(self.scale * k, self.queries, rows, across)
        return to_place + from_place.transpose(-2, -1)

    def placed(self, x: Tensor, project: nn.Module, rows: Tensor, distances: Tensor) -> Tensor:
        """Return x (B, H, T, d_head) times the projected row of each pair's distance (T, S) or
        (B, 1, T, S): (B, H, T, S). Only rows that occur are projected.
        """
        low, high = int(distances.min()), int(distances.max())
        index = self.rows.index(torch.arange(low, high + 1, device=x.device))
        first, last = int(index[0]), int(index[-1])
        split = project(rows[first : last + 1]).unflatten(-1, (self.n_heads, self.d_head))
        products = x @ split.permute(1, 2, 0)  # (B, H, T, rows)
        at = (index - first)[distances - low]
        shape = torch.broadcast_shapes((*products.shape[:-1], at.shape[-1]), at.shape)
        return products.expand(*shape[:-1], -1).gather(-1, at.expand(shape))


def disentangled_scale(d_head: int) -> float:
    """Return 1 / sqrt(3 d_head): a score has three terms."""
    return float((3 * d_head) ** -0.5)

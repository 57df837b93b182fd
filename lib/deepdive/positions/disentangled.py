"""DeBERTa's disentangled attention: content-to-position and position-to-content terms."""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.positions.relative import RelativePosition, offsets


class RelativeRows(nn.Module):
    """Relative position embeddings (d_model) for each distance t - s, shared by all layers.

        row(t - s) = table[clip(t - s + reach, 0, 2 * reach - 1)]

    All distances from `reach` on share a row. Raises ValueError when reach is below 1.
    Source: He et al. 2021, section 3.1, equation 3.
    """

    def __init__(self, d_model: int, reach: int) -> None:
        super().__init__()
        positive(d_model=d_model, reach=reach)
        self.reach = reach
        self.table = nn.Embedding(2 * reach, d_model)
        nn.init.normal_(self.table.weight, std=0.02)

    def index(self, distances: Tensor) -> Tensor:
        """Return the row of each integer distance, monotonic in the distance."""
        return (distances + self.reach).clamp(0, 2 * self.reach - 1)

    def forward(self) -> Tensor:
        """Return all rows, (2 * reach, d_model)."""
        return self.table.weight


class BucketedRows(RelativeRows):
    """`RelativeRows` with log buckets, which widen with the distance; `norm` normalizes each row.

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
                f"n_buckets={n_buckets}, farthest={farthest}: n_buckets must be even, and "
                f"farthest at least {self.middle + 2}"
            )
        self.norm = norm

    def index(self, distances: Tensor) -> Tensor:
        """Return the row of each distance's bucket. In float32, as the checkpoints were trained:
        rounding decides where a bucket begins.
        """
        far = distances.abs().clamp(min=self.middle).float() / self.middle
        widest = torch.tensor((self.farthest - 1) / self.middle, dtype=torch.float32).log()
        bucket = torch.ceil(far.log() / widest.to(far.device) * (self.middle - 1)) + self.middle
        in_range = distances.abs() <= self.middle
        return super().index(torch.where(in_range, distances, bucket.long() * distances.sign()))

    def forward(self) -> Tensor:
        """Return all rows, normalized, (2 * n_buckets, d_model)."""
        return self.norm(self.table.weight)


class DisentangledPosition(RelativePosition):
    """A score of three terms: content-to-content, content-to-position, position-to-content.

        scores[t, s] = scale * (q_t . k_s + q_t . keys(r) + k_s . queries(r))
        r            = rows(t - s)                              # (d_model,), then split into heads

    The first term is computed by attention, whose scale must be this one, 1 / sqrt(3 d_head) by
    default: each term adds its variance. `keys` and `queries` map rows (n, d_model) to
    (n, H * d_head). Nothing of size T x S x d_head is computed: each row is multiplied once, and
    pairs gather the products. `dropout` acts on the rows. The paper's equation 4 has the row of
    s - t in the last term; the released code, and so the weights trained by it, that of t - s.
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
        """Return the two terms with positions, (B, H, T, S)."""
        self.check_pairs(q, k, q_positions, k_positions)
        embeddings, distances = self.dropout(self.rows()), -offsets(q_positions, k_positions)
        content_to_position = self.placed(self.scale * q, self.keys, embeddings, distances)
        transposed = distances.transpose(-2, -1)  # keys times queries' rows, same t - s
        position_to_content = self.placed(self.scale * k, self.queries, embeddings, transposed)
        return content_to_position + position_to_content.transpose(-2, -1)

    def placed(self, x: Tensor, project: nn.Module, table: Tensor, distances: Tensor) -> Tensor:
        """Return x (B, H, T, d_head) times the projected row of each pair's distance (T, S) or
        (B, 1, T, S): (B, H, T, S). Only rows that occur are projected.
        """
        low, high = int(distances.min()), int(distances.max())
        index = self.rows.index(torch.arange(low, high + 1, device=x.device))
        first, last = int(index[0]), int(index[-1])
        projected = project(table[first : last + 1]).unflatten(-1, (self.n_heads, self.d_head))
        products = x @ projected.permute(1, 2, 0)  # (B, H, T, rows)
        columns = (index - first)[distances - low]
        shape = torch.broadcast_shapes((*products.shape[:-1], columns.shape[-1]), columns.shape)
        return products.expand(*shape[:-1], -1).gather(-1, columns.expand(shape))


def disentangled_scale(d_head: int) -> float:
    """Return 1 / sqrt(3 d_head): a score has three terms."""
    return float((3 * d_head) ** -0.5)

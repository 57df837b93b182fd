"""T5's relative position bias: a trained number for each head and bucket of offsets."""

import math

import torch
from torch import Tensor, nn

from deepdive.positions.relative import RelativePosition


def widening(distance: Tensor, n: int, max_distance: int) -> Tensor:
    """Return the bucket, of n, of each distance >= 0. In float32, as the checkpoints were trained:
    rounding decides where a bucket begins.
    """
    exact = n // 2
    far = torch.log(distance.clamp(min=exact).float() / exact)
    far = far / math.log(max_distance / exact) * (n - exact)
    return torch.where(distance < exact, distance, (exact + far.long()).clamp(max=n - 1))


class T5Bias(RelativePosition):
    """A number for each head and each bucket of offsets, added to the scores.

        bias[h, t, s] = table[bucket(s - t), h]

    Half of the buckets are for keys ahead. In each half, the first half of the buckets hold one
    distance each; the others widen logarithmically up to `max_distance`, and the last holds all
    beyond, so the length is unlimited. All blocks share one instance in T5, and its scores are
    unscaled (`MultiHeadAttention(..., scale=1.0)`).
    Raises ValueError unless n_buckets is a multiple of `sides` * 2 and max_distance exceeds the
    distances that have a bucket each.
    Source: Raffel et al. 2020, section 2.1, and their released code.
    """

    sides = 2

    def __init__(self, n_heads: int, n_buckets: int = 32, max_distance: int = 128) -> None:
        super().__init__()
        exact = n_buckets // self.sides // 2
        if n_buckets < 1 or n_buckets % (2 * self.sides) or max_distance <= exact:
            raise ValueError(
                f"n_buckets={n_buckets}, max_distance={max_distance}: n_buckets must be a multiple "
                f"of {2 * self.sides}, and max_distance above {exact}, the exact distances"
            )
        self.n_buckets, self.max_distance = n_buckets, max_distance
        self.n_heads = n_heads
        self.table = nn.Embedding(n_buckets, n_heads)
        nn.init.normal_(self.table.weight, std=0.02)

    def extra_repr(self) -> str:
        return f"n_buckets={self.n_buckets}, max_distance={self.max_distance}"

    def buckets(self, offsets: Tensor) -> Tensor:
        """Return the bucket of each integer offset k - q, of the same shape."""
        half = self.n_buckets // 2
        return widening(offsets.abs(), half, self.max_distance) + half * (offsets > 0)

    def worth(self, q: Tensor, offsets: Tensor) -> Tensor:
        """Return table[bucket(offset)], (1, H, 1, L)."""
        return self.table(self.buckets(offsets)).t()[None, :, None]


class CausalT5Bias(T5Bias):
    """T5's bias for causal attention: all buckets are for keys at or behind the query; keys ahead
    fall in bucket 0, and are masked.
    """

    sides = 1

    def buckets(self, offsets: Tensor) -> Tensor:
        """Return the bucket of each integer offset k - q, of the same shape."""
        return widening(-offsets.clamp(max=0), self.n_buckets, self.max_distance)

"""Locality-sensitive hashing: vectors of similar direction tend to share a bucket."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive._fast.hashing import nearest
from deepdive.core.checks import as_int

MOST_IN_ONE_FACTOR = 128  # buckets; above it the hash has two factors: fewer columns to multiply


def bucket_factors(T: int, chunk: int) -> tuple[int, ...]:
    """Return the number of buckets for T vectors: the largest power of two up to 2 T / chunk, so a
    chunk is two buckets long on average; above `MOST_IN_ONE_FACTOR` as two factors.

    Source: Kitaev et al. 2020, section 2 (m = 2 l / n_buckets).
    """
    power = max((2 * T // chunk).bit_length() - 1, 1)
    if 2**power <= MOST_IN_ONE_FACTOR:
        return (2**power,)
    return (2 ** (power // 2), 2 ** (power - power // 2))


def draw_rotations(
    heads: int, d: int, rounds: int, factors: Sequence[int], *, seed: int | None = None
) -> Tensor:
    """Return normal numbers (heads, d, rounds, sum(factors) / 2) in float64: from `seed`, or from
    torch's generator.

    Raises ValueError for a factor that is odd: each direction serves two buckets, one a side.
    """
    if tuple(factors) != (1,) and any(factor < 2 or factor % 2 for factor in factors):
        raise ValueError(f"buckets={tuple(factors)}: expected even numbers, or 1 for no hashing")
    generator = None if seed is None else torch.Generator().manual_seed(as_int("seed", seed))
    shape = (heads, d, rounds, sum(factors) // 2)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def hash_rows(x: Tensor, rotations: Tensor, factors: Sequence[int]) -> Tensor:
    """Return the bucket of each vector, int64 (B, H, rounds, T), for x (B, H, T, d).

        y = x @ rotations                             # one number per direction
        bucket = argmax(y, -y)                        # the nearest of 2 x directions

    With several factors, the number from each of them is a digit of the bucket. The length of a
    vector does not matter. Source: Andoni et al. 2015; Kitaev et al. 2020, section 2.
    """
    vectors = x.detach()
    if vectors.dtype in (torch.float16, torch.bfloat16):
        vectors = vectors.float()
    if tuple(factors) == (1,):
        return x.new_zeros(*x.shape[:2], rotations.shape[2], x.shape[2], dtype=torch.int64)
    widths = [factor // 2 for factor in factors]
    by_round = []
    for rotation in rotations.to(vectors).unbind(2):  # round by round, for less memory
        buckets, place = torch.zeros(x.shape[:3], dtype=torch.int64, device=x.device), 1
        for factor, directions in zip(factors, rotation.split(widths, dim=-1), strict=True):
            buckets += place * nearest(vectors @ directions)
            place *= factor
        by_round.append(buckets)
    return torch.stack(by_round, dim=2)


@dataclass(frozen=True)
class Sorted:
    """Vectors sorted by bucket, in one order per round, cut into chunks.

    order     (B, H, rounds, T'): the index of the vector at each rank; T' fills the last chunk
    place     (B, H, rounds, T'): the rank of each vector, the inverse of `order`
    cell      (B, H, rounds, T'): the bucket and the chunk of each, as one number: query and key
              share a bucket, the key in the same chunk or the one before, where query's cell minus
              key's is 0 or 1
    """

    order: Tensor
    place: Tensor
    cell: Tensor
    chunk: int


def sort_rows(buckets: Tensor, real: Tensor, n_buckets: int, chunk: int) -> Sorted:
    """Sort by bucket, then by position; padding (`real` False, (B, T)) goes to the end, into a
    separate bucket, and so does what fills the last chunk.
    """
    T = buckets.shape[-1]
    fill = -T % chunk
    real = F.pad(real, (0, fill), value=False)[:, None, None]
    buckets = F.pad(buckets, (0, fill)).masked_fill(~real, n_buckets)
    order = buckets.sort(dim=-1, stable=True).indices
    positions = torch.arange(T + fill, device=order.device).expand_as(order)
    place = torch.empty_like(order).scatter_(-1, order, positions)
    chunks = (T + fill) // chunk
    cell = buckets * (chunks + 2) + place // chunk
    return Sorted(order, place, cell, chunk)


def attended_pairs(q: Sorted, k: Sorted, T: int) -> Tensor:
    """Return bool (B, H, T, T): query and key share a bucket in some round, the key in the same
    chunk or the one before. The definition, written out.
    """
    pairs = torch.zeros(*q.cell.shape[:2], T, T, dtype=torch.bool, device=q.cell.device)
    for q_cell, k_cell in zip(q.cell.unbind(2), k.cell.unbind(2), strict=True):
        difference = q_cell[..., :T, None] - k_cell[..., None, :T]
        pairs |= (difference == 0) | (difference == 1)
    return pairs


def duplicate_counts(factors: Sequence[int]) -> int:
    """Return the number of buckets: the product of the factors."""
    return prod(factors)

"""Locality-sensitive hashing: rows that point the same way tend to fall into the same bucket."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive._fast.hashing import nearest
from deepdive.core.checks import whole

MOST_IN_ONE_FACTOR = 128  # buckets; above it the hash has two factors: fewer columns to multiply


def bucket_factors(T: int, chunk: int) -> tuple[int, ...]:
    """Return how many buckets T rows get: the largest power of two up to 2 T / chunk, so that a
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
        raise ValueError(f"buckets={tuple(factors)}: a count of buckets is even, or 1 for all rows")
    generator = None if seed is None else torch.Generator().manual_seed(whole("seed", seed))
    shape = (heads, d, rounds, sum(factors) // 2)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def hash_rows(rows: Tensor, rotations: Tensor, factors: Sequence[int]) -> Tensor:
    """Return the bucket of each row, int64 (B, H, rounds, T), for rows (B, H, T, d).

        x = rows @ rotations                          # one number a direction
        bucket = argmax(x, -x)                        # the nearest of 2 x directions

    With several factors, the numbers found with each of them are the digits of the bucket. The
    length of a row does not matter. Source: Andoni et al. 2015; Kitaev et al. 2020, section 2.
    """
    precise = rows.detach()
    if precise.dtype in (torch.float16, torch.bfloat16):
        precise = precise.float()
    if tuple(factors) == (1,):
        return rows.new_zeros(*rows.shape[:2], rotations.shape[2], rows.shape[2], dtype=torch.int64)
    widths = [factor // 2 for factor in factors]
    by_round = []
    for turned in rotations.to(precise).unbind(2):  # round by round: what is compared stays small
        buckets, place = torch.zeros(rows.shape[:3], dtype=torch.int64, device=rows.device), 1
        for factor, directions in zip(factors, turned.split(widths, dim=-1), strict=True):
            buckets += place * nearest(precise @ directions)
            place *= factor
        by_round.append(buckets)
    return torch.stack(by_round, dim=2)


@dataclass(frozen=True)
class Sorted:
    """Rows in the order of their buckets, one order a round, cut into chunks.

    order     (B, H, rounds, T'): which row stands at each place; T' fills the last chunk
    place     (B, H, rounds, T'): at which place each row stands
    cell      (B, H, rounds, T'): the bucket and the chunk of each row, as one number: query and key
              share a bucket, the key in the same chunk or the one before, where query's cell minus
              key's is 0 or 1
    """

    order: Tensor
    place: Tensor
    cell: Tensor
    chunk: int


def sort_rows(buckets: Tensor, real: Tensor, n_buckets: int, chunk: int) -> Sorted:
    """Sort by bucket, then by position; rows that are not real (B, T) go to the end, into a bucket
    of their own, and so do those that fill the last chunk.
    """
    T = buckets.shape[-1]
    fill = -T % chunk
    real = F.pad(real, (0, fill), value=False)[:, None, None]
    buckets = F.pad(buckets, (0, fill)).masked_fill(~real, n_buckets)
    order = buckets.sort(dim=-1, stable=True).indices
    places = torch.arange(T + fill, device=order.device).expand_as(order)
    place = torch.empty_like(order).scatter_(-1, order, places)
    chunks = (T + fill) // chunk
    cell = buckets * (chunks + 2) + place // chunk
    return Sorted(order, place, cell, chunk)


def attended_pairs(q: Sorted, k: Sorted, T: int) -> Tensor:
    """Return bool (B, H, T, T): query and key share a bucket in some round, the key in the same
    chunk or the one before. The definition, written out.
    """
    pairs = torch.zeros(*q.cell.shape[:2], T, T, dtype=torch.bool, device=q.cell.device)
    for q_cell, k_cell in zip(q.cell.unbind(2), k.cell.unbind(2), strict=True):
        apart = q_cell[..., :T, None] - k_cell[..., None, :T]
        pairs |= (apart == 0) | (apart == 1)
    return pairs


def duplicate_counts(factors: Sequence[int]) -> int:
    """Return the number of buckets: the product of the factors."""
    return prod(factors)

"""YOSO attention by LSH Bernoulli sampling: sums of values by bucket, forward and backward."""

import math
from typing import Any

import torch
from torch import Tensor

KEYS_FOR_SUMS = 16  # keys per query / width, above which sums by bucket cost less than pairs
ROWS = 2**12  # queries per step over the segments: they fit into a core's cache
Places = tuple[Tensor, Tensor] | None  # positions of keys and queries, None: not causal
COLUMNS = 8  # of v per step of the backward pass: a key adds d numbers per column to its bucket


class Sampled(torch.autograd.Function):
    """output[t] = the mean over the hashes of the sum of v[s] over keys s in query t's bucket.

    With share[t, s], the fraction of hashes in which t and s collide, that is share @ v; if causal,
    share is 0 where key s is after query t, with queries at the last positions. Backward

        grad_v = share^T @ grad
        grad_q = bits / 2 * (share * (grad @ v^T)) @ k
        grad_k = bits / 2 * (share * (grad @ v^T))^T @ q

    uses bits / 2 * share as the derivative of the expected share. It sums over the pairs that share
    a bucket (`slopes`); if buckets are too full, it also sums by bucket, since
    (share * (grad @ v^T)) @ k is the sum over i of grad[:, i] * (share @ (v[:, i] k)).
    Source: Zeng et al. 2021, section 3.
    """

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        to: Tensor,
        of: Tensor,
        real: Tensor,
        bits: int,
        causal: bool,
    ) -> Tensor:
        """Return (B, H, T, d_v) for unit q and k, v, the queries' buckets `to` (n_hashes, B, H, T),
        the keys' buckets `of`, and the `real` keys, bool (B, H, S).
        """
        ctx.save_for_backward(q, k, v, to, of, real)
        ctx.bits, ctx.causal = bits, causal
        places = in_order(k.shape[2], q.shape[2], q.device) if causal else None
        return sum_by_bucket(v * real.unsqueeze(-1), of, to, 2**bits, places)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of q, k and v."""
        (grad,) = grads
        q, k, v, to, of, real = ctx.saved_tensors
        buckets, keys = 2**ctx.bits, real.unsqueeze(-1)
        places = in_order(k.shape[2], q.shape[2], q.device) if ctx.causal else None
        grad_v = sum_by_bucket(grad, to, of, buckets, reversed_positions(places)) * keys
        grad_q, grad_k = q.new_zeros(q.shape), k.new_zeros(k.shape)
        for put, read in zip(of, to, strict=True):
            slopes(q, k, v * keys, grad, put, read, buckets, places, grad_q, grad_k)
        slope = ctx.bits / 2 / len(of)
        return slope * grad_q, slope * grad_k, grad_v, None, None, None, None, None


def slopes(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    grad: Tensor,
    of: Tensor,
    to: Tensor,
    buckets: int,
    places: Places,
    grad_q: Tensor,
    grad_k: Tensor,
) -> None:
    """Add one hash's contribution to grad_q and grad_k: a product of each segment of a bucket's
    queries with each segment of its keys; for very full buckets, by sums of d x d numbers, so the
    cost per position is at most about KEYS_FOR_SUMS * d^2 products.
    """
    batch, heads, _, width = k.shape
    first = buckets * torch.arange(batch * heads, device=k.device).view(batch, heads, 1)
    keys, queries = ((rows + first).flatten() for rows in (of, to))
    sizes, asked = (x.bincount(minlength=batch * heads * buckets) for x in (keys, queries))
    keys_met = (sizes * asked).sum().item() / len(queries)  # keys in a query's bucket, on average
    if keys_met > KEYS_FOR_SUMS * width:
        for i in range(0, v.shape[-1], COLUMNS):
            values, grads = v[..., i : i + COLUMNS], grad[..., i : i + COLUMNS]
            grad_q += _mixed(values, k, of[None], grads, to[None], buckets, places)
            grad_k += _mixed(
                grads, q, to[None], values, of[None], buckets, reversed_positions(places)
            )
        return
    long = 2 ** int(min(math.log2(max(keys_met, 4.0)), 6))
    query_parts, key_parts = Pieces(queries, asked, long), Pieces(keys, sizes, long)
    flat_q, flat_k, flat_v, flat_g = (
        pieces.lay(x.reshape(-1, x.shape[-1]))
        for pieces, x in ((query_parts, q), (key_parts, k), (key_parts, v), (query_parts, grad))
    )
    if places is not None:
        key_at, query_at = (
            pieces.lay(at.to(q.dtype).repeat(batch * heads)[:, None])
            for pieces, at in zip((key_parts, query_parts), places, strict=True)
        )
    to_q, to_k = torch.zeros_like(flat_q), torch.zeros_like(flat_k)
    n_keys = key_parts.count[query_parts.bucket]  # key segments for each query segment
    at = torch.arange(len(n_keys), device=k.device).repeat_interleave(n_keys)
    rank = torch.arange(len(at), device=k.device) - (n_keys.cumsum(0) - n_keys)[at]
    key = key_parts.first[query_parts.bucket[at]] + rank
    step = max(1, ROWS // long)
    for i, j in zip(at.split(step), key.split(step), strict=True):
        score = flat_g[i] @ flat_v[j].transpose(1, 2)  # 0 in empty slots
        if places is not None:
            score = score * (key_at[j].transpose(1, 2) <= query_at[i])
        to_q.index_add_(0, i, score @ flat_k[j])
        to_k.index_add_(0, j, score.transpose(1, 2) @ flat_q[i])
    grad_q += query_parts.read(to_q).view_as(grad_q)
    grad_k += key_parts.read(to_k).view_as(grad_k)


class Pieces:
    """Vectors sorted by bucket and split into segments of `long`, each of a single bucket.

    `of` (N,) is the bucket of each vector, `sizes` (buckets,) the bucket sizes. `bucket` is the
    bucket of each segment, `first` and `count` are each bucket's first segment and their number.
    """

    def __init__(self, of: Tensor, sizes: Tensor, long: int) -> None:
        self.long, self.count = long, (sizes + long - 1) // long
        self.first = self.count.cumsum(0) - self.count
        self.bucket = torch.arange(len(sizes), device=of.device).repeat_interleave(self.count)
        order = of.argsort()
        rank = torch.arange(len(of), device=of.device) - (sizes.cumsum(0) - sizes)[of[order]]
        self.at = torch.empty_like(of)
        self.at[order] = self.first[of[order]] * long + rank

    def lay(self, rows: Tensor) -> Tensor:
        """Scatter vectors (N, d) into segments, (segments, long, d), with 0 in empty slots."""
        laid = rows.new_zeros(len(self.bucket) * self.long, rows.shape[-1])
        return laid.index_copy_(0, self.at, rows).view(-1, self.long, rows.shape[-1])

    def read(self, laid: Tensor) -> Tensor:
        """Gather the vectors of a layout in their original order: (N, d)."""
        return laid.flatten(0, 1).index_select(0, self.at)


def sum_by_bucket(
    rows: Tensor, of: Tensor, to: Tensor, buckets: int, places: Places = None
) -> Tensor:
    """Return, for each target, the mean over the hashes of the sum of the sources (B, H, S, d) in
    its bucket: (B, H, T, d). `of` (n_hashes, B, H, S) has the sources' buckets, `to` (..., T) the
    targets'. With `places`, the positions of both, only sources not after the target are added.
    """
    batch, heads, _, width = rows.shape
    first = buckets * torch.arange(batch * heads, device=rows.device).view(batch, heads, 1)
    flat, out = rows.reshape(-1, width), rows.new_zeros(batch * heads * to.shape[-1], width)
    for put, read in zip(of, to, strict=True):
        if places is None:
            table = rows.new_zeros(batch * heads * buckets, width)
            table.index_add_(0, (put + first).flatten(), flat)
            out += table.index_select(0, (read + first).flatten())
        else:
            out += _running_sums(flat, put + first, read + first, places)
    return out.view(batch, heads, -1, width) / len(of)


def in_order(keys: int, queries: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the positions of keys (S,) and of queries (T,), which are the last."""
    every = torch.arange(keys, device=device)
    return every, every[keys - queries :]


def reversed_positions(places: Places) -> Places:
    """Return positions counted from the end, with keys and queries exchanged."""
    if places is None:
        return None
    keys, queries = (len(places[0]) - 1 - at for at in places)
    return queries, keys


def _running_sums(flat: Tensor, put: Tensor, read: Tensor, places: tuple[Tensor, Tensor]) -> Tensor:
    """Return for each target the sum of its bucket's sources up to its position, (B * H * T, d).

    Sources are sorted by bucket and position. This is a parallel prefix sum in each bucket: step i
    adds the source 2^i before it, so large numbers in one bucket never affect another's rounding.
    """
    longest = 1 + int(max(at.max() for at in places))
    codes, order = (put * longest + places[0]).flatten().sort()
    sums, bucket = flat[order], codes // longest
    step, largest = 1, int(bucket.unique_consecutive(return_counts=True)[1].max())
    while step < largest:
        same = (bucket[step:] == bucket[:-step]).unsqueeze(-1)
        sums[step:] += torch.where(same, sums[:-step], 0.0)
        step *= 2
    readers = read * longest + places[1]
    upto = torch.searchsorted(codes, readers.flatten(), right=True)
    before = torch.searchsorted(codes, (read * longest).flatten())
    return torch.where((upto > before).unsqueeze(-1), sums[(upto - 1).clamp(min=0)], 0.0)


def _mixed(
    values: Tensor,
    rows: Tensor,
    of: Tensor,
    weights: Tensor,
    to: Tensor,
    buckets: int,
    places: Places,
) -> Tensor:
    """Return (share * (weights @ values^T)) @ rows, (B, H, T, d)."""
    both = (values.unsqueeze(-1) * rows.unsqueeze(-2)).flatten(-2)  # (B, H, S, i * d)
    sums = sum_by_bucket(both, of, to, buckets, places).unflatten(-1, (-1, rows.shape[-1]))
    return (weights.unsqueeze(-2) @ sums).squeeze(-2)

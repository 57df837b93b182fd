"""Sums by bucket: what YOSO samples, forward and backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

FEW = 32  # keys that a query meets, on average, up to which pairs cost less than sums
PAIRS = 2**14  # pairs in one step of the backward pass
AT_ONCE = 8  # rows of d numbers that a key leaves in its bucket in one step of the backward pass


class Sampled(torch.autograd.Function):
    """output[t] = the mean over the hashes of the sum of v[s] over keys s in query t's bucket.

    With share[t, s], the part of the hashes in which t and s agree, that is share @ v. Backward

        grad_v = share^T @ grad
        grad_q = bits / 2 * (share * (grad @ v^T)) @ k
        grad_k = bits / 2 * (share * (grad @ v^T))^T @ q

    takes bits / 2 * share for the slope of the expected share, as `Expected` does. It goes over the
    pairs that share a bucket; where buckets are full, it sums by bucket too, since
    (share * (grad @ v^T)) @ k is the sum over i of grad[:, i] * (share @ (v[:, i] k)).
    Source: Zeng et al. 2021, section 3.
    """

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, to: Tensor, of: Tensor, real: Tensor, bits: int
    ) -> Tensor:
        """Return (B, H, T, d_v) for unit q and k, v, buckets `to` of the queries (n_hashes, B, H,
        T) and `of` the keys, and the `real` keys, bool (B, H, S).
        """
        ctx.save_for_backward(q, k, v, to, of, real)
        ctx.bits = bits
        return sum_by_bucket(v * real.unsqueeze(-1), of, to, 2**bits)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of q, k and v."""
        (grad,) = grads
        q, k, v, to, of, real = ctx.saved_tensors
        buckets, keys = 2**ctx.bits, real.unsqueeze(-1)
        grad_v = sum_by_bucket(grad, to, of, buckets) * keys
        grad_q, grad_k = q.new_zeros(q.shape), k.new_zeros(k.shape)
        for put, read in zip(of, to, strict=True):
            by_pair_or_bucket(q, k, v * keys, grad, put, read, buckets, grad_q, grad_k)
        slope = ctx.bits / 2 / len(of)
        return slope * grad_q, slope * grad_k, grad_v, None, None, None, None


def by_pair_or_bucket(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    grad: Tensor,
    of: Tensor,
    to: Tensor,
    buckets: int,
    grad_q: Tensor,
    grad_k: Tensor,
) -> None:
    """Add one hash's part to grad_q and grad_k: pair by pair while a bucket holds few, else by sums
    of d x d numbers, so that no bucket costs more than its rows times d^2.
    """
    batch, heads, _, width = k.shape
    first = buckets * torch.arange(batch * heads, device=k.device).view(batch, heads, 1)
    put, read = (of + first).flatten(), (to + first).flatten()
    sizes = torch.bincount(put, minlength=batch * heads * buckets)
    met = sizes[read]  # how many keys each query shares its bucket with
    pairs = int(met.sum())
    if pairs > FEW * len(put):
        for i in range(0, v.shape[-1], AT_ONCE):
            some, seen = v[..., i : i + AT_ONCE], grad[..., i : i + AT_ONCE]
            grad_q += _mixed(some, k, of[None], seen, to[None], buckets)
            grad_k += _mixed(seen, q, to[None], some, of[None], buckets)
        return
    query = torch.arange(len(read), device=k.device).repeat_interleave(met)
    rank = torch.arange(pairs, device=k.device) - (met.cumsum(0) - met)[query]
    key = put.argsort()[(sizes.cumsum(0) - sizes)[read[query]] + rank]
    flat_q, flat_k = q.reshape(-1, width), k.reshape(-1, width)
    flat_v, flat_g = v.reshape(-1, v.shape[-1]), grad.reshape(-1, v.shape[-1])
    to_q, to_k = grad_q.view(-1, width), grad_k.view(-1, width)
    for i, j in zip(query.split(PAIRS), key.split(PAIRS), strict=True):
        score = (flat_g[i] * flat_v[j]).sum(-1, keepdim=True)
        to_q.index_add_(0, i, score * flat_k[j])
        to_k.index_add_(0, j, score * flat_q[i])


def sum_by_bucket(rows: Tensor, of: Tensor, to: Tensor, buckets: int) -> Tensor:
    """Return, for each reader, the mean over the hashes of the sum of the rows (B, H, S, d) in its
    bucket: (B, H, T, d). `of` (n_hashes, B, H, S) says where a row is, `to` (..., T) what is read.
    """
    batch, heads, _, width = rows.shape
    first = buckets * torch.arange(batch * heads, device=rows.device).view(batch, heads, 1)
    flat, out = rows.reshape(-1, width), rows.new_zeros(batch * heads * to.shape[-1], width)
    for put, read in zip(of, to, strict=True):
        table = rows.new_zeros(batch * heads * buckets, width)
        table.index_add_(0, (put + first).flatten(), flat)
        out += table.index_select(0, (read + first).flatten())
    return out.view(batch, heads, -1, width) / len(of)


def _mixed(
    values: Tensor, rows: Tensor, of: Tensor, weights: Tensor, to: Tensor, buckets: int
) -> Tensor:
    """Return (share * (weights @ values^T)) @ rows, (B, H, T, d)."""
    both = (values.unsqueeze(-1) * rows.unsqueeze(-2)).flatten(-2)  # (B, H, S, i * d)
    read = sum_by_bucket(both, of, to, buckets).unflatten(-1, (-1, rows.shape[-1]))
    return (weights.unsqueeze(-2) @ read).squeeze(-2)

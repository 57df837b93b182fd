"""Linear (kernel) attention with few positions' features at a time, and causal in chunks."""

from collections.abc import Iterator
from itertools import repeat

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS = 512  # positions whose features are computed together: they fit into a core's cache


def in_parts(rows: Tensor, real: Tensor | None = None) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Yield `ROWS` of (B, H, S, d) at a time, and which are real, bool (B or 1, ...) or None."""
    real_parts = repeat(None) if real is None else real.split(ROWS, 1)
    return zip(rows.split(ROWS, 2), real_parts, strict=False)


def exp_difference(x: Tensor, less: Tensor) -> Tensor:
    """Return exp(x - less), in place."""
    x -= less
    return x.exp_()


def causal_products(q: Tensor, k: Tensor, v: Tensor, chunk: int) -> Tensor:
    """Return (q @ k^T).tril(S - T) @ v, (B, H, T, d_v), without a T x S matrix: earlier chunks by
    a cumulative sum of k^T v, keys in the same chunk by explicit products.
    """
    T, S = q.shape[2], k.shape[2]
    old, k = k.split([S - T, T], dim=2)
    before, v = v.split([S - T, T], dim=2)
    size = min(chunk, T)
    chunks = -(-T // size)
    q, k, v = (
        F.pad(x, (0, 0, 0, chunks * size - T)).unflatten(2, (chunks, size)) for x in (q, k, v)
    )  # (B, H, chunks, size, ...)
    sums = k.mT @ v  # (B, H, chunks, m, d_v)
    first = old.mT @ before
    sums = torch.cat([first.unsqueeze(2), sums[:, :, :-1]], dim=2).cumsum(2)
    near = (q @ k.mT).tril()  # (B, H, chunks, size, size)
    return (near @ v + q @ sums).flatten(2, 3)[:, :, :T]

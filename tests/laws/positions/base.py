"""Cases of `deepdive.positions.base`."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from deepdive.positions.base import Position
from laws import Fails, Pair, random_rows

ORDERED = Fails("telling positions apart is what it is for")


def shifted(make: Callable[[], Position], n_heads: int = 3, d_head: int = 4) -> Pair:
    """Return the limit that all relative schemes share: places moved by 11 give the same scores,
    with queries, keys and what is added.
    """

    def both() -> tuple[Tensor, Tensor]:
        q, k = random_rows(2, n_heads, 4, d_head), random_rows(2, n_heads, 9, d_head, seed=6)
        scheme, found = make().double(), []
        for start in (0, 11):
            k_at = torch.arange(start, start + 9)
            q_at = k_at[5:]
            scores = scheme.rotate(q, q_at) @ scheme.rotate(k, k_at).transpose(-2, -1)
            added = scheme.bias(q, k, q_at, k_at)
            found.append(scores if added is None else scores + added)
        return found[0], found[1]

    return both

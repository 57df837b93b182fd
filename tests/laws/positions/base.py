"""What the cases of relative positions share."""

from collections.abc import Callable

import torch
from torch import Tensor

from deepdive.core.position import Position
from laws import Pair, random_rows


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


def queries_and_keys(T: int, S: int, H: int = 3) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return q (2, H, T, 4) and k (2, H, S, 4), each followed by its places, queries at the end."""
    places = torch.arange(S)
    return random_rows(2, H, T, 4), random_rows(2, H, S, 4, seed=6), places[S - T :], places

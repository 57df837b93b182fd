"""The base of all position schemes, and what their cases share."""

import torch
from torch import Tensor, nn

from deepdive.core.context import Context


class Position(nn.Module):
    """Base of all position schemes: every method does nothing. A scheme overrides one or two of
    them.

    Positions are integers (T,) or (B, T). One instance given to all blocks shares its parameters.
    `n_heads`, `d_head` and `d_model` are the sizes that a scheme is built for; None: any.
    """

    n_heads: int | None = None
    d_head: int | None = None
    d_model: int | None = None

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return token embeddings x (B, T, d_model) with position added."""
        return x

    def rotate(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Return q or k (B, H, T, d_head) rotated by its position."""
        return rows

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """Return what is added to the scores, broadcastable to (B, H, T, S), in score units; q is
        unscaled.
        """
        return None

    def check_rows(
        self, rows: Tensor, positions: Tensor, name: str = "positions", **sizes: int
    ) -> None:
        """Raise ValueError unless the `sizes` of rows (B, ..., T, width), such as
        `d_head=rows.shape[-1]`, are those that the scheme was built for, and positions, called
        `name`, fit the rows.
        """
        for size, came in sizes.items():
            built = getattr(self, size)
            if built is not None and built != came:
                raise ValueError(
                    f"{type(self).__name__} was built for {size}={built}, but the rows have "
                    f"{size}={came}, {tuple(rows.shape)}: build it with {size}={came}"
                )
        check_positions(name, positions, rows)

    def check_pairs(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> None:
        """Raise ValueError unless q (B, H, T, d_head) and k (B, H, S, d_head) have the sizes that
        the scheme was built for, and positions fit them.
        """
        if q.ndim != 4 or k.ndim != 4:
            raise ValueError(
                f"q and k are (B, H, T, d_head) and (B, H, S, d_head); got {tuple(q.shape)} and "
                f"{tuple(k.shape)}: give them all four axes"
            )
        if q.shape[1] != k.shape[1]:
            raise ValueError(
                f"q has {q.shape[1]} heads, but k has {k.shape[1]}: repeat the keys that several "
                "query heads share (repeat_interleave along axis 1)"
            )
        self.check_rows(q, q_positions, "q_positions", n_heads=q.shape[1], d_head=q.shape[-1])
        check_positions("k_positions", k_positions, k)


def overrides(position: Position | None, method: str) -> bool:
    """Whether a scheme does something in this method of `Position`."""
    return getattr(type(position), method, None) not in (None, getattr(Position, method))


def query_positions(x: Tensor, context: Context) -> Tensor:
    """Return the positions of x (B, T, d_model), (T,) or (B, T): those given, or counted from the
    cache's length.
    """
    T, start = x.shape[1], 0 if context.slot is None else context.slot.length
    if context.positions is None:
        return torch.arange(start, start + T, device=x.device)
    return context.positions[..., -T:]


def pair_positions(q: Tensor, k: Tensor, context: Context) -> tuple[Tensor, Tensor]:
    """Return the positions of queries (B, H, T, d_head), (T,) or (B, T), and of all keys (B, H, S,
    d_head), (S,) or (B, S). Raises ValueError where a cache has keys of unknown positions.
    """
    (T, S), at = (q.shape[2], k.shape[2]), context.positions
    if context.memory is None:
        at = torch.arange(S, device=q.device) if at is None else at
        if at.shape[-1] != S:
            raise ValueError(
                f"positions are those of {T} queries, and the cache has earlier keys, whose "
                f"positions the scores need too: give all {S}, the queries' last"
            )
        return at[..., -T:], at
    if at is None and context.slot is not None:
        raise ValueError(
            f"positions are missing: with a cache, say where the {T} queries of a memory stand"
        )
    there = context.memory_positions
    at = torch.arange(T, device=q.device) if at is None else at[..., -T:]
    return at, torch.arange(S, device=q.device) if there is None else there


def check_positions(name: str, positions: Tensor, rows: Tensor, so_far: int = 0) -> None:
    """Raise ValueError unless positions are (T,) or (B, T), for rows (B, ..., T, width), or those
    of all `so_far` rows, with a cache.
    """
    T = rows.shape[-2]
    fit = [(T,), (rows.shape[0], T)] if rows.ndim > 2 else [(T,)]
    if so_far > T:
        fit += [(so_far,), (rows.shape[0], so_far)]
    if positions.shape not in fit:
        raise ValueError(
            f"{name} must be {' or '.join(map(str, fit))}, an integer for each of the rows "
            f"{tuple(rows.shape)}; got {tuple(positions.shape)}"
        )


def outside(positions: Tensor, length: int) -> int | None:
    """Return a position that a table of `length` rows does not have, or None."""
    first, last = int(positions.min()), int(positions.max())
    return first if first < 0 else last if last >= length else None


FIX_NEGATIVE = "places count from 0: give padding place 0 (positions.clamp(min=0)) and mask it"

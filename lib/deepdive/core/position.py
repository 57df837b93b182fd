"""Base class of position encodings, and shared checks of positions."""

import torch
from torch import Tensor, nn

from deepdive.core.context import Context


class Position(nn.Module):
    """Base class of position encodings: every method does nothing. A scheme overrides one or two.

    Positions are integers (T,) or (B, T). One instance passed to all blocks shares its parameters.
    `n_heads`, `d_head` and `d_model` are the sizes that a scheme is built for; None: any.
    """

    n_heads: int | None = None
    d_head: int | None = None
    d_model: int | None = None

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return token embeddings x (B, T, d_model) plus position embeddings."""
        return x

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return x, queries or keys (B, H, T, d_head), rotated by their positions."""
        return x

    def bias(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """Return the bias added to the scores, broadcastable to (B, H, T, S), in score units; q is
        unscaled.
        """
        return None

    def check_rows(
        self, x: Tensor, positions: Tensor, name: str = "positions", **sizes: int
    ) -> None:
        """Raise ValueError unless the `sizes` of x (B, ..., T, width), such as
        `d_head=x.shape[-1]`, are those that the scheme was built for, and the positions, called
        `name`, fit x.
        """
        for size, actual in sizes.items():
            built = getattr(self, size)
            if built is not None and built != actual:
                raise ValueError(
                    f"{type(self).__name__} was built for {size}={built}, but the vectors have "
                    f"{size}={actual}, {tuple(x.shape)}: build it with {size}={actual}"
                )
        check_positions(name, positions, x)

    def check_pairs(self, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor) -> None:
        """Raise ValueError unless q (B, H, T, d_head) and k (B, H, S, d_head) have the sizes that
        the scheme was built for, and the positions fit them.
        """
        if q.ndim != 4 or k.ndim != 4:
            raise ValueError(
                f"q and k are (B, H, T, d_head) and (B, H, S, d_head); got {tuple(q.shape)} and "
                f"{tuple(k.shape)}: add the missing dimensions"
            )
        if q.shape[1] != k.shape[1]:
            raise ValueError(
                f"q has {q.shape[1]} heads, but k has {k.shape[1]}: repeat the keys that query "
                "heads share (repeat_interleave along dim 1)"
            )
        self.check_rows(q, q_positions, "q_positions", n_heads=q.shape[1], d_head=q.shape[-1])
        check_positions("k_positions", k_positions, k)


def overrides(position: Position | None, method: str) -> bool:
    """Whether a scheme overrides this method of `Position`."""
    return getattr(type(position), method, None) not in (None, getattr(Position, method))


def query_positions(x: Tensor, context: Context) -> Tensor:
    """Return the positions of x (B, T, d_model), (T,) or (B, T): the context's, or counted from the
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
    (T, S), positions = (q.shape[2], k.shape[2]), context.positions
    if context.memory is None:
        positions = torch.arange(S, device=q.device) if positions is None else positions
        if positions.shape[-1] != S:
            raise ValueError(
                f"positions are for {T} queries, but the scores also need those of the cached "
                f"keys: pass all {S}, with the queries' last"
            )
        return positions[..., -T:], positions
    if positions is None and context.slot is not None:
        raise ValueError(
            f"positions are missing: with a cache and a memory, pass those of the {T} queries"
        )
    k_positions = context.memory_positions
    positions = torch.arange(T, device=q.device) if positions is None else positions[..., -T:]
    return positions, torch.arange(S, device=q.device) if k_positions is None else k_positions


def check_positions(name: str, positions: Tensor, x: Tensor, so_far: int = 0) -> None:
    """Raise ValueError unless positions are (T,) or (B, T), for x (B, ..., T, width), or, with a
    cache, those of all `so_far` states.
    """
    T = x.shape[-2]
    fit = [(T,), (x.shape[0], T)] if x.ndim > 2 else [(T,)]
    if so_far > T:
        fit += [(so_far,), (x.shape[0], so_far)]
    if positions.shape not in fit:
        raise ValueError(
            f"{name} must be {' or '.join(map(str, fit))}, an integer for each position of "
            f"{tuple(x.shape)}; got {tuple(positions.shape)}"
        )


def outside(positions: Tensor, length: int) -> int | None:
    """Return a position outside a table of `length` positions, or None."""
    first, last = int(positions.min()), int(positions.max())
    return first if first < 0 else last if last >= length else None


FIX_NEGATIVE = "positions start at 0: use 0 for padding (positions.clamp(min=0)), and mask it"

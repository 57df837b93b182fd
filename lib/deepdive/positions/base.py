"""The base of all position schemes, and what their cases share."""

from torch import Tensor, nn


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
        """Return q or k (B, H, T, d_head) turned by its position."""
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


def check_positions(name: str, positions: Tensor, rows: Tensor) -> None:
    """Raise ValueError unless positions are (T,) or (B, T), for rows (B, ..., T, width)."""
    T = rows.shape[-2]
    fit = [(T,), (rows.shape[0], T)] if rows.ndim > 2 else [(T,)]
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

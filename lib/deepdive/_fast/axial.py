"""Axial attention: rows or columns of a grid of positions, folded into the batch."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def lines(
    q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, width: int, *, by_column: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Callable[[Tensor], Tensor]]:
    """Return q, k and v (B * lines, H, line, d), which keys are real (B * lines, line), and a
    function that restores the attention outputs of the lines to (B, H, T, d).

    The grid has `width` columns; queries are at the last T of the S positions.
    """
    B, T, S = q.shape[0], q.shape[2], k.shape[2]
    front, back = (S - T) % width, -S % width
    if back:
        real = torch.ones(1, S, dtype=torch.bool, device=k.device) if real is None else real
        real = F.pad(real, (0, back), value=False)
    q = F.pad(q, (0, 0, front, back)).unflatten(2, (-1, width))
    k, v = (F.pad(x, (0, 0, 0, back)).unflatten(2, (-1, width)) for x in (k, v))
    real = None if real is None else real.expand(B, -1).unflatten(1, (-1, width))
    if by_column:
        q, k, v = (x.transpose(2, 3) for x in (q, k, v))
        real = None if real is None else real.transpose(1, 2)
    n_lines = q.shape[2]
    if not by_column:  # grid rows without a query are not needed
        k, v = k[:, :, -n_lines:], v[:, :, -n_lines:]
        real = None if real is None else real[:, -n_lines:]
    q, k, v = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))

    def join(mixed: Tensor) -> Tensor:
        mixed = mixed.unflatten(0, (B, n_lines)).transpose(1, 2)  # (B, H, lines, line, d)
        mixed = mixed.transpose(2, 3) if by_column else mixed
        return mixed.flatten(2, 3)[:, :, front : front + T]

    return q, k, v, None if real is None else real.flatten(0, 1), join

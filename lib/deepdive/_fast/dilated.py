"""Dilated attention: positions that are equal modulo the dilation form a dense sequence."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]


def by_dilation(
    attend: Attend, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, gaps: Sequence[int]
) -> Tensor:
    """Return the output (B, H, T, d_v): one call of `attend` for the heads of each dilation, with
    q, k, v (B * gap, heads, length, d) and the real keys. `gaps` is the dilation of each head.
    """
    if len(set(gaps)) == 1:
        return _texts(attend, q, k, v, real, gaps[0])
    mixed = q.new_empty(*q.shape[:3], v.shape[3])
    for gap in sorted(set(gaps)):
        heads = torch.tensor([h for h, own in enumerate(gaps) if own == gap], device=q.device)
        own_q, own_k, own_v = (x.index_select(1, heads) for x in (q, k, v))
        own = _texts(attend, own_q, own_k, own_v, real, gap)
        mixed = mixed.index_copy(1, heads, own)
    return mixed


def _texts(
    attend: Attend, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, gap: int
) -> Tensor:
    """Attend with one dilation: positions from the end, modulo `gap`, form the sequences."""
    B, T, S = q.shape[0], q.shape[2], k.shape[2]
    if fill := -S % gap:  # the padding in front has no real keys
        real = k.new_ones(1, S).bool() if real is None else real
        real = F.pad(real, (fill, 0), value=False)
    q, k, v = (_every(x, gap) for x in (q, k, v))
    if real is not None:
        real = real.expand(B, -1).unflatten(1, (-1, gap)).transpose(1, 2).flatten(0, 1)
    mixed = attend(q, k, v, real)
    mixed = mixed.unflatten(0, (B, gap)).permute(0, 2, 3, 1, 4).flatten(2, 3)
    return mixed[:, :, mixed.shape[2] - T :]


def _every(rows: Tensor, gap: int) -> Tensor:
    """(B, H, T, d) -> (B * gap, H, ceil(T / gap), d), zero-padded in front."""
    rows = F.pad(rows, (0, 0, -rows.shape[2] % gap, 0)).unflatten(2, (-1, gap))
    return rows.permute(0, 3, 1, 2, 4).flatten(0, 1)

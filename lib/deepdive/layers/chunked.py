"""A feed-forward layer that works on a few rows at a time."""

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from deepdive.core.checks import positive


class ChunkedFeedForward(nn.Module):
    """inner(x), `rows` positions at a time: the d_ff units of one chunk exist at once, not of all.

    Each position is worked on alone, so nothing changes but memory: rows * d_ff instead of
    T * d_ff, in the backward pass too, where the units of each chunk are computed again (dropout
    falls on the same ones). Raises ValueError for less than one row.
    Source: Kitaev et al. 2020, section 3, "Chunking".
    """

    def __init__(self, inner: nn.Module, rows: int) -> None:
        super().__init__()
        positive(rows=rows)
        self.inner, self.rows = inner, rows

    def extra_repr(self) -> str:
        return f"rows={self.rows}"

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model)."""
        parts = x.split(self.rows, dim=1)
        if not torch.is_grad_enabled() or len(parts) == 1:
            return torch.cat([self.inner(part) for part in parts], dim=1)
        done = [checkpoint(self.inner, part, use_reentrant=False) for part in parts]
        return torch.cat(done, dim=1)

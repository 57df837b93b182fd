"""Chunked feed-forward layer (Reformer): a few positions at a time, to save memory."""

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from deepdive.core.checks import positive


class ChunkedFeedForward(nn.Module):
    """inner(x), `rows` positions at a time: the d_ff units of one chunk exist at once, not of all.

    Positions are independent, so only memory changes: rows * d_ff instead of T * d_ff, also in the
    backward pass, where the units of each chunk are recomputed (with the same dropout). Raises
    ValueError for less than one row.
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
        outputs = [checkpoint(self.inner, part, use_reentrant=False) for part in parts]
        return torch.cat(outputs, dim=1)

"""Swin's layers: attention in shifted windows of a grid of patches, and patch merging."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention.by_position.shifted import Sides
from deepdive.core.block import Block
from deepdive.core.checks import positive
from deepdive.core.norms import LayerNorm

EPS = 1e-5  # of the norms that no setting names


def folded(grid: Tensor, side: int) -> Tensor:
    """Return the windows of a grid (B, h, w, d), (B * h/side * w/side, side^2, d)."""
    squares = grid.unflatten(2, (-1, side)).unflatten(1, (-1, side))  # (B, h/s, s, w/s, s, d)
    return squares.transpose(2, 3).reshape(-1, side * side, grid.shape[-1])


def unfolded(windows: Tensor, side: int, height: int, width: int) -> Tensor:
    """Return the grids (B, height, width, d) of windows: the inverse of `folded`."""
    squares = windows.reshape(-1, height // side, width // side, side, side, windows.shape[-1])
    return squares.transpose(2, 3).reshape(-1, height, width, windows.shape[-1])


def padded(grid: Tensor, multiple: int) -> Tensor:
    """Return a grid (B, h, w, d) zero-padded at the bottom and right to multiples of `multiple`."""
    below, right = (-side % multiple for side in grid.shape[1:3])
    return F.pad(grid, (0, 0, 0, right, 0, below)) if below or right else grid


def sides(height: int, width: int, shift: int, device: torch.device) -> Tensor:
    """Return the region of each position of a grid that was rolled by `shift`, integers (1, height,
    width, 1): only positions of one region were neighbors.
    """
    bottom, right = (torch.arange(n, device=device) >= n - shift for n in (height, width))
    return (2 * bottom[:, None] + right[None, :]).long()[None, :, :, None]


class Windows(nn.Module):
    """A Swin block: attention within windows, each a sequence of the batch.

        windows = folded(roll(padded(norm(grid)), -shift))          # (B * windows, window^2, d)
        grid = grid + roll(unfolded(attention(windows, Sides(sides))), shift)      # (B, h, w, d)
        grid = grid + feed_forward(norm(grid))

    A grid whose shorter side is one window is not shifted. Where full windows do not fill the grid,
    the normalized grid is padded with zeros at the bottom and on the right, and cropped again. The
    zeros are keys like all others, as in the released code: where you can, resize images so that
    windows fill them.
    Source: Liu et al. 2021, section 3.2.
    """

    def __init__(self, block: Block, window: int, shift: int = 0) -> None:
        super().__init__()
        positive(window=window)
        if not 0 <= shift < window:
            raise ValueError(f"shift={shift}, window={window}: expected 0 <= shift < window")
        self.block, self.window, self.shift = block, window, shift

    def forward(self, grid: Tensor) -> Tensor:
        """Return the grid (B, h, w, d) after the block."""
        grid = self.block.attn_residual(grid, self._attend)
        return self.block.stream(self.block.ff_residual(grid, self.block.ff))

    def _attend(self, grid: Tensor) -> Tensor:
        """Return the output of attention in windows of a grid (B, h, w, d)."""
        height, width = grid.shape[1:3]
        shift = self.shift if min(height, width) > self.window else 0
        full = padded(grid, self.window)
        high, wide = full.shape[1:3]
        mask = None
        if shift:
            full = full.roll((-shift, -shift), (1, 2))
            ids = folded(sides(high, wide, shift, grid.device), self.window)[..., 0]
            mask = Sides(ids, len(grid))
        windows = self.block.attn(folded(full, self.window), mask=mask)
        full = unfolded(windows, self.window, high, wide)
        if shift:
            full = full.roll((shift, shift), (1, 2))
        return full[:, :height, :width]


class Merging(nn.Module):
    """Patch merging, y = W norm([x_00; x_10; x_01; x_11]): 2 x 2 patches become one, from d to 2 d
    numbers. Source: Liu et al. 2021, section 3.1.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.norm = LayerNorm(4 * d_model, EPS)
        self.reduce = nn.Linear(4 * d_model, 2 * d_model, bias=False)

    def forward(self, grid: Tensor) -> Tensor:
        """Return (B, h/2, w/2, 2 d) for a grid (B, h, w, d); an odd side gets a line of zeros."""
        grid = padded(grid, 2)
        four = grid.unflatten(2, (-1, 2)).unflatten(1, (-1, 2))  # (B, h/2, line, w/2, column, d)
        return self.reduce(self.norm(four.permute(0, 1, 3, 4, 2, 5).flatten(3)))

"""Layers of SegFormer on a grid (B, h, w, d): overlapping patches, attention with sequence
reduction, a feed-forward layer with a depthwise convolution, a stage of blocks, and the decoder of
all stages' grids.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, Context, Layer, LayerNorm, MultiHeadAttention
from deepdive.core.checks import positive
from deepdive.core.feed_forward import Activation, FeedForward, gelu
from deepdive.layers.patches import Patches
from deepdive.layers.windows import EPS


class OverlappingPatches(nn.Module):
    """grid = norm(convolution(images)): squares of `size` pixels, one every `stride` pixels.

    Beyond the edges are size // 2 zeros. Source: Xie et al. 2021, section 3.1.
    """

    def __init__(self, size: int, stride: int, channels: int, d_model: int) -> None:
        super().__init__()
        positive(size=size, stride=stride, channels=channels, d_model=d_model)
        self.project = nn.Conv2d(channels, d_model, size, stride, size // 2)
        self.norm = LayerNorm(d_model, EPS)

    def forward(self, images: Tensor) -> Tensor:
        """Return (B, h, w, d_model) for images (B, C, H, W)."""
        if images.ndim != 4 or images.shape[1] != self.project.in_channels:
            expected = f"(B, {self.project.in_channels}, H, W)"
            raise ValueError(f"images: got {tuple(images.shape)}, expected {expected}")
        return self.norm(self.project(images).movedim(1, -1))


class ReducedAttention(Layer):
    """Self-attention of a grid, with `rate` x `rate` positions reduced to one key and one value.

        memory = norm(patches(grid))                             # (B, h/rate * w/rate, d)
        output = attention(grid, memory=memory)                  # T queries, T / rate^2 keys

    rate 1: every position is a key. Where `rate` does not divide a side of the grid, the last lines
    or columns are queries but in no key, as in the released code (a convolution of that stride).
    Raises ValueError for a grid smaller than one square.
    Source: Xie et al. 2021, section 3.1, equation 2; Wang et al. 2021 (PVT).
    """

    reads = ()
    instead = (
        "a grid has no padding, and its keys have no sequence positions; MultiHeadAttention takes "
        "masks, positions, and a cache"
    )

    def __init__(self, d_model: int, n_heads: int, rate: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        positive(rate=rate)
        self.d_model, self.rate = d_model, rate
        self.attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        if rate > 1:
            self.patches, self.norm = Patches(rate, d_model, d_model), LayerNorm(d_model, EPS)

    def forward(self, grid: Tensor, context: Context) -> Tensor:
        """Return (B, h, w, d_model) for a grid of that shape."""
        memory = self.norm(self.patches(self._squares(grid))) if self.rate > 1 else None
        return self.attention(grid.flatten(1, 2), memory=memory).view_as(grid)

    def _squares(self, grid: Tensor) -> Tensor:
        """Return the grid as (B, d_model, h, w), h and w cropped to multiples of `rate`."""
        height, width = (side - side % self.rate for side in grid.shape[1:3])
        if not height or not width:
            raise ValueError(
                f"a grid of {grid.shape[1]} x {grid.shape[2]} is smaller than one {self.rate} x "
                f"{self.rate} patch for a key: use a larger image"
            )
        return grid[:, :height, :width].movedim(-1, 1)


class ConvolvedFeedForward(FeedForward):
    """out(activation(depthwise(inner(x)))): each of the d_ff channels is mixed with those of the
    eight neighbors in the grid. Zeros beyond the edges let it detect an edge.

    Source: Xie et al. 2021, section 3.1, equation 3.
    """

    def __init__(
        self, d_model: int, d_ff: int, activation: Activation = gelu, dropout: float = 0.0
    ) -> None:
        super().__init__(d_model, d_ff, activation, dropout)
        self.depthwise = nn.Conv2d(d_ff, d_ff, 3, padding=1, groups=d_ff)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, h, w, d_model) for a grid of that shape."""
        mixed = self.depthwise(self.inner(x).movedim(-1, 1)).movedim(1, -1)
        return self.out(self.dropout(self.activation(mixed)))


class Stage(nn.Module):
    """Images or a grid (B, C, H, W) -> a grid (B, H/stride, W/stride, d): patches, blocks, norm."""

    def __init__(self, patches: OverlappingPatches, blocks: Sequence[Block]) -> None:
        super().__init__()
        self.patches, self.blocks = patches, nn.ModuleList(blocks)
        self.norm = LayerNorm(patches.project.out_channels, EPS)

    def forward(self, images: Tensor) -> Tensor:
        grid = self.patches(images)
        for layer in self.blocks:
            grid = layer(grid)
        return self.norm(grid)


class Decoder(nn.Module):
    """logits = classify(relu(batch_norm(fuse([resized(W_i grid_i)])))), at the first grid's size.

    The grids are joined from the last to the first. Source: Xie et al. 2021, section 3.2.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        width, stages = config.d_decoder, len(config.widths)
        self.projections = nn.ModuleList(nn.Linear(each, width) for each in config.widths)
        self.fuse = nn.Conv2d(stages * width, width, 1, bias=False)
        self.norm, self.dropout = nn.BatchNorm2d(width), nn.Dropout(config.decoder_dropout)
        self.classify = nn.Conv2d(width, config.n_classes, 1)

    def forward(self, grids: list[Tensor]) -> Tensor:
        """Return (B, n_classes, h, w) for grids, the first of which is (B, h, w, d)."""
        size, pairs = grids[0].shape[1:3], zip(self.projections, grids, strict=True)
        flat = [project(grid).movedim(-1, 1) for project, grid in pairs]
        alike = [F.interpolate(x, size, mode="bilinear", align_corners=False) for x in flat[::-1]]
        return self.classify(self.dropout(F.relu(self.norm(self.fuse(torch.cat(alike, 1))))))

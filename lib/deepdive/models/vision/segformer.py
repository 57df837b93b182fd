"""SegFormer, a ViT that paints a mask: what is at each pixel? Xie et al. 2021, "SegFormer: Simple
and Efficient Design for Semantic Segmentation with Transformers".

Long because it has a decoder, and the record whose stages have sizes of their own. Stochastic
depth, which acts in training alone, is left out.

System: segformer
Parent: vit
What differs:
- patches overlap, and each of four stages begins by halving the grid (`OverlappingPatches`)
- `rate` x `rate` rows of the grid become one key and one value (`ReducedAttention`)
- there is no position: zeros beyond the edges, which a convolution in the feed-forward layer sees,
  tell where the edge is (`ConvolvedFeedForward`); so any size will do
- no special token: a decoder brings the grids of all stages to one size, and joins them
  (`Decoder`)
Source: Xie et al. 2021, section 3 and table 6 of its appendix, and their released code.
Book: blog
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, LayerNorm, PreNorm, gelu
from deepdive.core.checks import divides, each_at_least
from deepdive.core.feed_forward import Activation
from deepdive.layers.heads import initialise
from deepdive.layers.patches import check_pixels
from deepdive.layers.segformer_layers import (
    ConvolvedFeedForward,
    OverlappingPatches,
    ReducedAttention,
)
from deepdive.layers.windows import EPS
from deepdive.models.config import Config


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

    def __init__(self, config: SegformerConfig) -> None:
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


class Segformer(nn.Module):
    """Images (B, C, H, W) -> logits (B, n_classes, H/4, W/4) of what is seen where."""

    def __init__(self, config: SegformerConfig) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stage(config, i) for i in range(len(config.widths)))
        self.decoder, self.config = Decoder(config), config

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits, in steps of the first stride."""
        return self.decoder(self.grids(images))

    def grids(self, images: Tensor) -> list[Tensor]:
        """Return what each stage makes, (B, h, w, d)."""
        check_pixels(images)
        found: list[Tensor] = []
        for each in self.stages:
            images = images if not found else found[-1].movedim(-1, 1)
            found.append(each(images))
        return found

    def pixels(self, images: Tensor) -> Tensor:
        """Return the logits resized to the images, (B, n_classes, H, W)."""
        size = images.shape[2:]
        return F.interpolate(self(images), size, mode="bilinear", align_corners=False)


def stage(config: SegformerConfig, i: int) -> Stage:
    """Return stage i, which reads the image or the stage before."""
    channels = config.widths[i - 1] if i else config.channels
    patches = OverlappingPatches(config.sizes[i], config.strides[i], channels, config.widths[i])
    return Stage(patches, [block(config, i) for _ in range(config.depths[i])])


def block(config: SegformerConfig, i: int) -> Block:
    """Return one layer of stage i, which takes grids."""
    width = config.widths[i]
    return Block(
        ReducedAttention(width, config.heads[i], config.rates[i], config.attention_dropout),
        ConvolvedFeedForward(width, config.ratios[i] * width, config.activation, config.dropout),
        residual=partial(PreNorm, norm=partial(LayerNorm, eps=EPS), dropout=config.dropout),
    )


@dataclass(frozen=True)
class SegformerConfig(Config):
    """The numbers of a SegFormer: six of them for each stage.

    sizes, strides  of the squares that become patches, and how far they stand from each other
    rates           that many rows of lines and of columns become one key
    ratios          width of a feed-forward layer for each of its stage's
    """

    channels: int = 3
    depths: tuple[int, ...] = (2, 2, 2, 2)
    widths: tuple[int, ...] = (32, 64, 160, 256)
    heads: tuple[int, ...] = (1, 2, 5, 8)
    sizes: tuple[int, ...] = (7, 3, 3, 3)
    strides: tuple[int, ...] = (4, 2, 2, 2)
    rates: tuple[int, ...] = (8, 4, 2, 1)
    ratios: tuple[int, ...] = (4, 4, 4, 4)
    d_decoder: int = 256
    n_classes: int = 150
    dropout: float = 0.0
    attention_dropout: float = 0.0
    decoder_dropout: float = 0.1
    activation: Activation = gelu
    family: str = "segformer"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("depths", "widths", "heads", "sizes", "strides", "rates", "ratios"):
            values = getattr(self, name)
            each_at_least(1, name, values)
            if len(values) != len(self.widths):
                raise ValueError(f"{name}={values}, widths={self.widths}: one of each for a stage")
        for width, heads in zip(self.widths, self.heads, strict=True):
            divides(heads=heads, widths=width)


B0 = SegformerConfig()
B1 = B0.but(widths=(64, 128, 320, 512))
B2 = B1.but(depths=(3, 4, 6, 3), d_decoder=768)
B3 = B2.but(depths=(3, 4, 18, 3))
B4 = B2.but(depths=(3, 8, 27, 3))
B5 = B2.but(depths=(3, 6, 40, 3))
TINY = B0.but(
    channels=1, depths=(1, 1), widths=(16, 32), heads=(2, 4), sizes=(3, 3), strides=(2, 2),
    rates=(2, 1), ratios=(2, 2), d_decoder=16, n_classes=3, decoder_dropout=0.0,
)  # fmt: skip


def segformer(config: SegformerConfig = B0, **changes: Any) -> Segformer:
    """Build a painter of masks; defaults are the paper's smallest. Raises as `vit` does."""
    model = Segformer(SegformerConfig.given(config, changes))
    initialise(model)
    for part in model.modules():
        if isinstance(part, nn.Conv2d):  # as released: by how many numbers a number goes into
            goes_into = part.kernel_size[0] ** 2 * part.out_channels // part.groups
            nn.init.normal_(part.weight, std=math.sqrt(2 / goes_into))
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    return model

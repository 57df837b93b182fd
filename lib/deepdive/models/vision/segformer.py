"""SegFormer: a hierarchical ViT for semantic segmentation. Xie et al. 2021, "SegFormer: Simple
and Efficient Design for Semantic Segmentation with Transformers".

Long because it resizes, and initializes convolutions by a rule of its own, as released. Stochastic
depth, used only in training, is left out.

System: segformer
Parent: vit
What differs:
- patches overlap, and each of four stages begins by downsampling the grid (`OverlappingPatches`)
- keys and values are reduced: `rate` x `rate` tokens of the grid become one (`ReducedAttention`)
- no position embeddings: the zero padding of a convolution in the feed-forward layer signals where
  the edges are (`ConvolvedFeedForward`), so any image size works
- no class token: a decoder upsamples the feature maps of all stages to one size, and merges them
  (`Decoder`)
Source: Xie et al. 2021, section 3 and table 6 of its appendix, and their released code.
Book: blog
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, LayerNorm, PreNorm
from deepdive.layers.heads import initialize
from deepdive.layers.patches import check_pixels
from deepdive.layers.segformer_layers import (
    ConvolvedFeedForward,
    Decoder,
    OverlappingPatches,
    ReducedAttention,
    Stage,
)
from deepdive.layers.windows import EPS
from deepdive.models.vision.segformer_config import SegformerConfig


class Segformer(nn.Module):
    """Images (B, C, H, W) -> segmentation logits (B, n_classes, H/4, W/4)."""

    def __init__(self, config: SegformerConfig) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stage(config, i) for i in range(len(config.widths)))
        self.decoder, self.config = Decoder(config), config

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits, downsampled by the first stride."""
        return self.decoder(self.grids(images))

    def grids(self, images: Tensor) -> list[Tensor]:
        """Return each stage's feature map, (B, h, w, d)."""
        check_pixels(images)
        grids: list[Tensor] = []
        for each in self.stages:
            images = images if not grids else grids[-1].movedim(-1, 1)
            grids.append(each(images))
        return grids

    def pixels(self, images: Tensor) -> Tensor:
        """Return the logits upsampled to the images' size, (B, n_classes, H, W)."""
        size = images.shape[2:]
        return F.interpolate(self(images), size, mode="bilinear", align_corners=False)


def stage(config: SegformerConfig, i: int) -> Stage:
    """Return stage i, whose input is the image or the previous stage's feature map."""
    channels = config.widths[i - 1] if i else config.channels
    patches = OverlappingPatches(config.sizes[i], config.strides[i], channels, config.widths[i])
    return Stage(patches, [block(config, i) for _ in range(config.depths[i])])


def block(config: SegformerConfig, i: int) -> Block:
    """Return one layer of stage i; its inputs are grids (B, h, w, d)."""
    width = config.widths[i]
    return Block(
        ReducedAttention(width, config.heads[i], config.rates[i], config.attention_dropout),
        ConvolvedFeedForward(width, config.ratios[i] * width, config.activation, config.dropout),
        residual=partial(PreNorm, norm=partial(LayerNorm, eps=EPS), dropout=config.dropout),
    )


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
    """Build a SegFormer; defaults are the paper's smallest model, B0. Raises as `vit` does."""
    model = Segformer(SegformerConfig.given(config, changes))
    initialize(model)
    for part in model.modules():
        if isinstance(part, nn.Conv2d):  # as released: normal, scaled by fan-out
            goes_into = part.kernel_size[0] ** 2 * part.out_channels // part.groups
            nn.init.normal_(part.weight, std=math.sqrt(2 / goes_into))
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    return model

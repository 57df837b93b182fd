"""Swin Transformer: a hierarchical ViT with attention in shifted windows. Liu et al. 2021,
"Swin Transformer: Hierarchical Vision Transformer using Shifted Windows".

Long because no parent has stages of different widths. Stochastic depth, used only in training, is
left out.

System: swin
Parent: vit
What differs:
- attention within windows of window x window patches, folded into the batch (`Windows`)
- in every second layer the windows are shifted by half a window, down and to the right
  (`Windows.shift`); patches the roll brings together from opposite edges are masked (`sides`)
- a relative position bias for each 2-D offset is added to the scores (`GridBias`); there are no
  position embeddings and no class token
- between stages 2 x 2 neighboring patches are merged into one, twice as wide (`Merging`)
Source: Liu et al. 2021, section 3 and table 7, and their released code.
Book: fleuret
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention import ShiftedAttention
from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PreNorm
from deepdive.core.hooks import HookPoint
from deepdive.layers.heads import initialize
from deepdive.layers.patches import Patches, check_pixels
from deepdive.layers.windows import EPS, Merging, Windows
from deepdive.models.vision.swin_config import SwinConfig


class Swin(nn.Module):
    """Images (B, C, H, W) -> hidden states (B, N, 2^(stages - 1) d_model) of the merged patches.

    Hook point: `embedded` (B, h, w, d_model).
    """

    def __init__(self, config: SwinConfig) -> None:
        super().__init__()
        self.patches = Patches(config.patch_size, config.channels, config.d_model)
        self.patch_norm = LayerNorm(config.d_model, EPS)
        self.dropout, self.embedded = nn.Dropout(config.dropout), HookPoint()
        self.stages = nn.ModuleList(stage(config, i) for i in range(len(config.depths)))
        self.merges = nn.ModuleList(Merging(width) for width in config.widths[:-1])
        self.norm, self.config = LayerNorm(config.widths[-1], config.eps), config

    def forward(self, images: Tensor) -> Tensor:
        """Return the final hidden states, after the last norm."""
        return self.norm(self.grids(images)[-1].flatten(1, 2))

    def grids(self, images: Tensor) -> list[Tensor]:
        """Return each stage's feature map, (B, h, w, d), h and w halved and d doubled per stage.

        An image is zero-padded at the bottom and right to whole patches, a grid to even sides.
        """
        check_pixels(images)
        below, right = (-side % self.config.patch_size for side in images.shape[2:])
        images = F.pad(images, (0, right, 0, below))
        x = self.patch_norm(self.patches(images))
        lines = images.shape[2] // self.config.patch_size
        grid = self.embedded(self.dropout(x.unflatten(1, (lines, -1))))
        stages = [self.stages[0](grid)]
        for merge, stage in zip(self.merges, self.stages[1:], strict=True):
            stages.append(stage(merge(stages[-1])))
        return stages


def stage(config: SwinConfig, i: int) -> nn.Sequential:
    """Return the layers of stage i; every second one has shifted windows."""
    shifts = (layer % 2 * config.shift(config.window) for layer in range(config.depths[i]))
    return nn.Sequential(*(Windows(block(config, i), config.window, shift) for shift in shifts))


def block(config: SwinConfig, stage: int) -> Block:
    """Return one layer of a stage, which depends on the windows only through relative offsets."""
    width, heads = config.widths[stage], config.heads[stage]
    return Block(
        MultiHeadAttention(
            width,
            heads,
            mechanism=ShiftedAttention(config.attention_dropout),
            position=config.position(heads, config),
        ),
        FeedForward(width, int(config.ratio * width), config.activation),
        residual=partial(PreNorm, norm=partial(LayerNorm, eps=config.eps), dropout=config.dropout),
    )


SMALLEST = SwinConfig()
SMALL = SMALLEST.but(depths=(2, 2, 18, 2))
BASE = SMALL.but(d_model=128, heads=(4, 8, 16, 32))
LARGE = BASE.but(d_model=192, heads=(6, 12, 24, 48))
TINY = SMALLEST.but(
    image_size=16, patch_size=2, channels=1, d_model=16, depths=(2, 1), heads=(2, 4), window=4
)  # for tests and small examples; the paper's Swin-T is `SMALLEST`


def swin(config: SwinConfig = SMALLEST, **changes: Any) -> Swin:
    """Build a Swin Transformer; defaults are the paper's Swin-T. Raises as `vit` does."""
    config = SwinConfig.given(config, changes)
    model = Swin(config)
    initialize(model)
    return model

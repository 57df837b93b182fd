"""What enters a reader of images: a row a patch, special rows before them, positions added."""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint
from deepdive.layers.patches import Patches, check_pixels, resized


class ImageEmbeddings(nn.Module):
    """rows = dropout([first; patches(images)] + positions), shape (B, 1 + N, d_model).

    Hook point: `embedded` (B, 1 + N, d_model).
    Source: Dosovitskiy et al. 2021, equation 1.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.patches = Patches(config.patch_size, config.channels, config.d_model)
        self.special = nn.Parameter(torch.zeros(config.n_special, config.d_model))
        self.grid = (config.image_size // config.patch_size,) * 2
        rows = config.n_special + self.grid[0] * self.grid[1]
        self.positions = nn.Parameter(torch.zeros(rows, config.d_model))
        for table in (self.special, self.positions):
            nn.init.trunc_normal_(table, std=0.02, a=-0.04, b=0.04)
        self.dropout, self.embedded = nn.Dropout(config.dropout), HookPoint()

    def forward(self, images: Tensor) -> Tensor:
        """Return what enters the stack for images (B, C, H, W) of any size of whole patches."""
        check_pixels(images)
        rows, n = self.patches(images), len(self.special)
        height, width = (side // self.patches.size for side in images.shape[2:])
        places = resized(self.positions[n:], self.grid, (height, width))
        rows = torch.cat([self.special.expand(len(rows), -1, -1), rows], 1)
        return self.dropout(self.embedded(rows + torch.cat([self.positions[:n], places])))

"""Input embeddings of image encoders: patches after special tokens, with positions that are learned
(ViT), fixed (MAE), or absent (data2vec, where a learned mask embedding replaces masked patches).
"""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.checks import flags
from deepdive.core.hooks import HookPoint
from deepdive.layers.patches import Patches, check_pixels, resized
from deepdive.positions.sinusoidal import plane


class ImageEmbeddings(nn.Module):
    """x = dropout([special; patches(images)] + positions), shape (B, 1 + N, d_model).

    Hook point: `embedded` (B, 1 + N, d_model).
    Source: Dosovitskiy et al. 2021, equation 1.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.patches = Patches(config.patch_size, config.channels, config.d_model)
        self.special = nn.Parameter(torch.zeros(config.n_special, config.d_model))
        self.grid = (config.image_size // config.patch_size,) * 2
        n_positions = config.n_special + self.grid[0] * self.grid[1]
        self.positions = nn.Parameter(torch.zeros(n_positions, config.d_model))
        for table in (self.special, self.positions):
            nn.init.trunc_normal_(table, std=0.02, a=-0.04, b=0.04)
        self.dropout, self.embedded = nn.Dropout(config.dropout), HookPoint()

    def forward(self, images: Tensor) -> Tensor:
        """Return embeddings for images (B, C, H, W) whose sides are multiples of the patch's."""
        check_pixels(images)
        x, n = self.patches(images), len(self.special)
        height, width = (side // self.patches.size for side in images.shape[2:])
        positions = resized(self.positions[n:], self.grid, (height, width))
        x = torch.cat([self.special.expand(len(x), -1, -1), x], 1)
        return self.dropout(self.embedded(x + torch.cat([self.positions[:n], positions])))


def sincos_table(special: int, grid: tuple[int, int], d_model: int) -> Tensor:
    """Return zeros for the special tokens, then `plane`: (special + N, d_model)."""
    return torch.cat([torch.zeros(special, d_model), plane(*grid, d_model)])


class SinCosImageEmbeddings(ImageEmbeddings):
    """ViT's embeddings with fixed sinusoidal positions; the special tokens have none."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        del self.positions
        self.register_buffer("positions", sincos_table(config.n_special, self.grid, config.d_model))


class MaskedPatchEmbeddings(nn.Module):
    """x = [special; patches(images), or the mask embedding where hidden], (B, 1 + N, d_model)."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.patches = Patches(config.patch_size, config.channels, config.d_model)
        self.special = nn.Parameter(torch.zeros(1, config.d_model))
        nn.init.trunc_normal_(self.special, std=0.02, a=-0.04, b=0.04)
        row = torch.randn(config.d_model).clamp(-2, 2) * 0.02
        self.mask = nn.Parameter(row) if config.masked else None
        self.side, self.dropout = config.image_size, nn.Dropout(config.dropout)

    def forward(self, images: Tensor, hidden: Tensor | None = None) -> Tensor:
        """Return the embeddings; `hidden` is bool (B, N), True = masked; None: no patch is."""
        check_pixels(images)
        if images.shape[2:] != (self.side, self.side):
            raise ValueError(
                f"images of {tuple(images.shape[2:])} pixels; expected {self.side} x {self.side}, "
                "the size of the position table: resize them"
            )
        x = self.patches(images)
        if hidden is not None:
            if self.mask is None:
                raise ValueError("hidden: this encoder has no mask embedding; use masked=True")
            flags("hidden", hidden, x.shape[:2], "(B, N), True = replaced by the mask's row")
            x = torch.where(hidden[..., None], self.mask, x)
        return self.dropout(torch.cat([self.special.expand(len(x), -1, -1), x], 1))

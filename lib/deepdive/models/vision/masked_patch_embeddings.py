"""What enters Data2Vec's encoder of images: patches, and a learned row where one is hidden."""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.checks import flags
from deepdive.layers.patches import Patches, check_pixels


class MaskedPatchEmbeddings(nn.Module):
    """rows = [special; patches(images), or the mask's row where hidden], (B, 1 + N, d_model)."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.patches = Patches(config.patch_size, config.channels, config.d_model)
        self.special = nn.Parameter(torch.zeros(1, config.d_model))
        nn.init.trunc_normal_(self.special, std=0.02, a=-0.04, b=0.04)
        row = torch.randn(config.d_model).clamp(-2, 2) * 0.02
        self.mask = nn.Parameter(row) if config.masked else None
        self.side, self.dropout = config.image_size, nn.Dropout(config.dropout)

    def forward(self, images: Tensor, hidden: Tensor | None = None) -> Tensor:
        """Return what enters the stack; `hidden` is bool (B, N), None: nothing is."""
        check_pixels(images)
        if images.shape[2:] != (self.side, self.side):
            raise ValueError(
                f"images of {tuple(images.shape[2:])} pixels: offsets are counted for squares of "
                f"{self.side}; resize them"
            )
        rows = self.patches(images)
        if hidden is not None:
            if self.mask is None:
                raise ValueError(
                    "hidden: this encoder has no row for a gap; build it with masked=True"
                )
            flags("hidden", hidden, rows.shape[:2], "(B, N), True = replaced by the mask's row")
            rows = torch.where(hidden[..., None], self.mask, rows)
        return self.dropout(torch.cat([self.special.expand(len(rows), -1, -1), rows], 1))

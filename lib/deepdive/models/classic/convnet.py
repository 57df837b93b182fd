"""A small convolutional network of today's kind, to put beside other readers of images.

    maps = pool(relu(norm(conv(maps))))  a layer, then  logits = W mean over places of maps + b

What differs from LeNet:
- a unit has no bias of its own, only its map has one: a moved image gives moved maps (`Layer`)
- each map is normalised over batch and places (Ioffe and Szegedy 2015), then ReLU (`Layer`)
- maps become coarser by the largest of each two by two places (`Layer`, `halve`)
- no layer knows places: the maps' means are classified (Lin et al. 2014, section 3.2; `ConvNet`)
"""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import not_negative, positive


class Layer(nn.Module):
    """relu(norm(conv(x))), halved where asked: (B, n_below, h, w) -> (B, maps, h, w or half)."""

    def __init__(self, n_below: int, maps: int, kernel: int = 3, halve: bool = False) -> None:
        super().__init__()
        positive(n_below=n_below, maps=maps, kernel=kernel)
        if kernel % 2 == 0:
            raise ValueError(f"kernel={kernel}: expected an odd number: a unit has a middle")
        self.conv = nn.Conv2d(n_below, maps, kernel, padding=kernel // 2, bias=False)
        self.norm, self.halve = nn.BatchNorm2d(maps), halve

    def forward(self, x: Tensor) -> Tensor:
        """Return the maps."""
        x = F.relu(self.norm(self.conv(x)))
        return F.max_pool2d(x, 2) if self.halve else x


class ConvNet(nn.Module):
    """Layers of maps, the first `halve` of them halved, then their means: images (B, C, H, W) of
    any size from 2^halve pixels -> logits (B, n_classes).
    """

    def __init__(
        self, maps: Sequence[int], n_classes: int = 10, *, channels: int = 1, kernel: int = 3,
        halve: int = 2,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(n_classes=n_classes, channels=channels, layers=len(maps))
        not_negative(halve=halve)
        below = [channels, *maps]
        layers = [Layer(below[i], n, kernel, halve=i < halve) for i, n in enumerate(maps)]
        self.layers = nn.Sequential(*layers)
        self.out = nn.Linear(maps[-1], n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits of each image."""
        return self.out(self.layers(images).mean((2, 3)))

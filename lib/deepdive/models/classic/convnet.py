"""ConvNet: a small modern convolutional network, a baseline for other image models.

    maps = pool(relu(norm(conv(maps))))  per layer, then  logits = W mean over positions of maps + b

What differs from LeNet:
- a bias per map, not per unit, so maps are translation equivariant (`Layer`)
- batch normalization of each map (Ioffe and Szegedy 2015), then ReLU (`Layer`)
- two by two max pooling makes maps coarser (`Layer`, `halve`)
- no layer depends on position: global average pooling (Lin et al. 2014, section 3.2; `ConvNet`)
"""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import not_negative, positive


class Layer(nn.Module):
    """Conv, batch norm, ReLU, pooling if `halve`: (B, n_below, h, w) -> (B, maps, h, w or half)."""

    def __init__(self, n_below: int, maps: int, kernel: int = 3, halve: bool = False) -> None:
        super().__init__()
        positive(n_below=n_below, maps=maps, kernel=kernel)
        if kernel % 2 == 0:
            raise ValueError(f"kernel={kernel}: expected an odd number, so it has a center")
        self.conv = nn.Conv2d(n_below, maps, kernel, padding=kernel // 2, bias=False)
        self.norm, self.halve = nn.BatchNorm2d(maps), halve

    def forward(self, x: Tensor) -> Tensor:
        """Return the feature maps."""
        x = F.relu(self.norm(self.conv(x)))
        return F.max_pool2d(x, 2) if self.halve else x


class ConvNet(nn.Module):
    """Convolutional layers, the first `halve` with pooling, then global average pooling: images (B,
    C, H, W) of any size from 2^halve pixels -> logits (B, n_classes).
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
        """Return the logits (B, n_classes) of each image."""
        return self.out(self.layers(images).mean((2, 3)))

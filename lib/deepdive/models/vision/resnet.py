"""ResNet: a CNN backbone that maps an image to a coarse feature map. He et al. 2016, "Deep Residual
Learning for Image Recognition"; its batch norms are frozen, as in DETR.

    image -> 7 x 7 convolution, stride 2 -> 3 x 3 max pooling, stride 2 -> stages of residual layers

Each stage but the first halves the map. A bottleneck's stride is in its 3 x 3 convolution.
"""

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.layers.patches import check_pixels
from deepdive.layers.residual_conv import ConvNorm
from deepdive.models.vision.resnet_config import RESNET_18, RESNET_50, TINY, ResNetConfig

__all__ = ["RESNET_18", "RESNET_50", "TINY", "ResNet", "ResNetConfig", "resnet"]


class ResNet(nn.Module):
    """Images (B, C, H, W) -> feature map (B, widths[-1], h, w), h = H / (4 * 2^(stages - 1))."""

    def __init__(self, config: ResNetConfig) -> None:
        super().__init__()
        self.config = config
        self.stem = ConvNorm(config.channels, config.d_stem, 7, stride=2)
        self.stages, below = nn.ModuleList(), config.d_stem
        for stage, (width, depth) in enumerate(zip(config.widths, config.depths, strict=True)):
            layers = [config.layer(below, width, 2 if stage else 1)]
            layers += [config.layer(width, width, 1) for _ in range(depth - 1)]
            self.stages.append(nn.Sequential(*layers))
            below = width

    def forward(self, images: Tensor) -> Tensor:
        """Return the last stage's map. Raises ValueError for other than (B, channels, H, W)."""
        if images.ndim != 4 or images.shape[1] != self.config.channels:
            raise ValueError(
                f"images: got {tuple(images.shape)}, expected (B, {self.config.channels}, H, W)"
            )
        check_pixels(images)
        x = F.max_pool2d(F.relu(self.stem(images)), 3, 2, 1)
        for stage in self.stages:
            x = stage(x)
        return x


def resnet(config: ResNetConfig = RESNET_50, **changes: Any) -> ResNet:
    """Build a ResNet with frozen batch norms; by default with the layers of ResNet-50."""
    return ResNet(ResNetConfig.given(config, changes))

"""ResNet as a backbone: an image becomes a coarse map of features. He et al. 2016, "Deep Residual
Learning for Image Recognition"; its norms are frozen, as DETR has them.

    image -> 7 x 7, every second pixel -> the largest of 3 x 3, every second -> stages of layers

Each stage but the first halves the map. Bottlenecks halve in their 3 x 3 convolution.

Long because it holds both kinds of layer, the record, and what measures the norms' constants.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.models.config import Config

EPS = 1e-5


class FrozenBatchNorm(nn.Module):
    """y = weight * (x - mean) / sqrt(variance + eps) + bias, all four constants: none is trained,
    and no batch changes them (`settle` measures two of them once).

    Source: Carion et al. 2020, appendix A.4.
    """

    weight: Tensor
    bias: Tensor
    mean: Tensor
    variance: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        for name, value in (("weight", 1.0), ("bias", 0.0), ("mean", 0.0), ("variance", 1.0)):
            self.register_buffer(name, torch.full((channels,), value))

    def forward(self, x: Tensor) -> Tensor:
        """Return the map (B, C, H, W), each channel moved and stretched."""
        scale = self.weight * (self.variance + EPS).rsqrt()
        return x * scale[:, None, None] + (self.bias - self.mean * scale)[:, None, None]


class ConvNorm(nn.Sequential):
    """norm(conv(x)): a convolution without a bias, padded so that a stride of 1 keeps the size."""

    def __init__(self, below: int, channels: int, kernel: int, stride: int = 1) -> None:
        conv = nn.Conv2d(below, channels, kernel, stride, kernel // 2, bias=False)
        nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
        super().__init__(conv, FrozenBatchNorm(channels))


class Basic(nn.Module):
    """relu(second(relu(first(x))) + shortcut(x)), two convolutions of 3 x 3.

    The shortcut is x itself, or a 1 x 1 convolution where size or channels change.
    """

    def __init__(self, below: int, channels: int, stride: int = 1) -> None:
        super().__init__()
        same = below == channels and stride == 1
        self.shortcut = nn.Identity() if same else ConvNorm(below, channels, 1, stride)
        self.convs = nn.ModuleList(self.branch(below, channels, stride))

    def branch(self, below: int, channels: int, stride: int) -> list[ConvNorm]:
        """Return the convolutions of the branch; a relu stands between two."""
        return [ConvNorm(below, channels, 3, stride), ConvNorm(channels, channels, 3)]

    def forward(self, x: Tensor) -> Tensor:
        """Return the map (B, channels, H / stride, W / stride)."""
        first, *others = self.convs
        y = first(x)
        for conv in others:
            y = conv(F.relu(y))
        return F.relu(y + self.shortcut(x))


class Bottleneck(Basic):
    """The branch of ResNet-50 and larger: 1 x 1 to a quarter of the channels, 3 x 3, 1 x 1 back."""

    def branch(self, below: int, channels: int, stride: int) -> list[ConvNorm]:
        """Return the three convolutions of the branch."""
        few = channels // 4
        return [ConvNorm(below, few, 1), ConvNorm(few, few, 3, stride), ConvNorm(few, channels, 1)]


@dataclass(frozen=True)
class ResNetConfig(Config):
    """The numbers of a ResNet: channels of the image, of the stem and of each stage, layers of each
    stage, and the kind of layer.
    """

    channels: int = 3
    d_stem: int = 64
    widths: tuple[int, ...] = (256, 512, 1024, 2048)
    depths: tuple[int, ...] = (3, 4, 6, 3)
    layer: Callable[[int, int, int], nn.Module] = Bottleneck

    def __post_init__(self) -> None:
        """Raise ValueError for stages without width, depth, or layers."""
        super().__post_init__()
        wrong = len(self.widths) != len(self.depths) or min((0, *self.widths, *self.depths)) < 0
        if wrong or not self.widths or 0 in (*self.widths, *self.depths):
            raise ValueError(
                f"widths={self.widths}, depths={self.depths}: expected one number above 0 for each "
                "stage, in both"
            )


RESNET_18 = ResNetConfig(widths=(64, 128, 256, 512), depths=(2, 2, 2, 2), layer=Basic)
RESNET_50 = ResNetConfig()
TINY = ResNetConfig(d_stem=8, widths=(8, 16), depths=(1, 1), layer=Basic)  # for tests and toys


class ResNet(nn.Module):
    """Pictures (B, C, H, W) -> a map (B, widths[-1], h, w), h = H / (4 * 2^(stages - 1))."""

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
                f"images: came {tuple(images.shape)}, expected (B, {self.config.channels}, H, W)"
            )
        x = F.max_pool2d(F.relu(self.stem(images)), 3, 2, 1)
        for stage in self.stages:
            x = stage(x)
        return x


def resnet(config: ResNetConfig = RESNET_50, **changes: Any) -> ResNet:
    """Build a ResNet whose norms are frozen; by default with the layers of ResNet-50."""
    return ResNet(ResNetConfig.given(config, changes))


def settle(network: nn.Module, images: Tensor) -> None:
    """Let each frozen norm measure, from the first to the last, mean and variance of what reaches
    it for these images. For networks that nobody has trained before: the paper's come from ImageNet
    with norms that were trained there.
    """

    def measure(norm: Any, inputs: tuple[Tensor, ...]) -> None:
        norm.mean.copy_(inputs[0].mean((0, 2, 3)))
        norm.variance.copy_(inputs[0].var((0, 2, 3), correction=0))

    norms = [module for module in network.modules() if isinstance(module, FrozenBatchNorm)]
    hooks = [norm.register_forward_pre_hook(measure) for norm in norms]
    with torch.no_grad():
        network(images)
    for hook in hooks:
        hook.remove()

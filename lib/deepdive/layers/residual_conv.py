"""Residual blocks of a ResNet, with frozen batch norms.

Source: He et al. 2016, sections 3.3 and 4.1, figure 5; the norms: Carion et al. 2020, section A.4.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EPS = 1e-5


class FrozenBatchNorm(nn.Module):
    """y = weight * (x - mean) / sqrt(variance + eps) + bias, all four constants: not trained, and
    no running statistics (`settle` computes mean and variance once).

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
        """Return the feature map (B, C, H, W), normalized per channel."""
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
        """Return the convolutions of the branch; a relu is between two."""
        return [ConvNorm(below, channels, 3, stride), ConvNorm(channels, channels, 3)]

    def forward(self, x: Tensor) -> Tensor:
        """Return the feature map (B, channels, H / stride, W / stride)."""
        first, *others = self.convs
        y = first(x)
        for conv in others:
            y = conv(F.relu(y))
        return F.relu(y + self.shortcut(x))


class Bottleneck(Basic):
    """Bottleneck block (ResNet-50): 1 x 1 to a quarter of the channels, 3 x 3, 1 x 1 back."""

    def branch(self, below: int, channels: int, stride: int) -> list[ConvNorm]:
        """Return the three convolutions of the branch."""
        mid = channels // 4
        return [ConvNorm(below, mid, 1), ConvNorm(mid, mid, 3, stride), ConvNorm(mid, channels, 1)]


def settle(network: nn.Module, images: Tensor) -> None:
    """Set each frozen norm's mean and variance, from the first to the last, to those of its inputs
    for these images. For networks without pre-training: the paper's come from ImageNet with norms
    that were trained there.
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

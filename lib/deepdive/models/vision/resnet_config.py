"""Hyperparameters of a ResNet, with its layer type."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from deepdive.layers.residual_conv import Basic, Bottleneck
from deepdive.models.config import Config


@dataclass(frozen=True)
class ResNetConfig(Config):
    """Hyperparameters of a ResNet: channels of the image, the stem, and each stage, layers of each
    stage, and the layer type. `family` is its `model_type` in files: "resnet" for the names of
    transformers, "timm_backbone" for those of timm.
    """

    channels: int = 3
    d_stem: int = 64
    widths: tuple[int, ...] = (256, 512, 1024, 2048)
    depths: tuple[int, ...] = (3, 4, 6, 3)
    layer: Callable[[int, int, int], nn.Module] = Bottleneck
    family: str = "resnet"

    def __post_init__(self) -> None:
        """Raise ValueError for stages without width, depth, or layers."""
        super().__post_init__()
        wrong = len(self.widths) != len(self.depths) or min((0, *self.widths, *self.depths)) < 0
        if wrong or not self.widths or 0 in (*self.widths, *self.depths):
            raise ValueError(
                f"widths={self.widths}, depths={self.depths}: expected one number above 0 per "
                "stage in each"
            )


# He et al. 2016, table 1.
RESNET_18 = ResNetConfig(widths=(64, 128, 256, 512), depths=(2, 2, 2, 2), layer=Basic)
RESNET_34 = RESNET_18.but(depths=(3, 4, 6, 3))
RESNET_50 = ResNetConfig()
RESNET_101 = RESNET_50.but(depths=(3, 4, 23, 3))
RESNET_152 = RESNET_50.but(depths=(3, 8, 36, 3))
TINY = ResNetConfig(d_stem=8, widths=(8, 16), depths=(1, 1), layer=Basic)  # for tests and examples

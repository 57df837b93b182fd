"""Hyperparameters of `deepdive.models.vision.swin`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deepdive.core import gelu
from deepdive.core.checks import divides, each_at_least
from deepdive.core.feed_forward import Activation
from deepdive.layers.windows import EPS
from deepdive.models.config import Config
from deepdive.positions import GridBias


@dataclass(frozen=True)
class SwinConfig(Config):
    """Hyperparameters of a Swin Transformer, and its exchangeable components.

    image_size  side in pixels of the images it was designed for; other sizes also work
    d_model     width of the first stage; each later stage is twice as wide as the one before
    depths      layers of each stage
    heads       heads of each stage
    window      side of a window in patches
    ratio       feed-forward width divided by the stage's width
    shift       window -> how far the windows of every second layer are shifted
    position    (heads, config) -> the position scheme of one layer
    """

    image_size: int = 224
    patch_size: int = 4
    channels: int = 3
    d_model: int = 96
    depths: tuple[int, ...] = (2, 2, 6, 2)
    heads: tuple[int, ...] = (3, 6, 12, 24)
    window: int = 7
    ratio: float = 4.0
    dropout: float = 0.0
    attention_dropout: float = 0.0
    eps: float = EPS
    activation: Activation = gelu
    shift: Callable[[int], int] = lambda window: window // 2
    position: Callable[[int, Any], Any] = lambda heads, config: GridBias(heads, config.window)
    family: str = "swin"

    def __post_init__(self) -> None:
        super().__post_init__()
        each_at_least(1, "depths", self.depths)
        each_at_least(1, "heads", self.heads)
        if len(self.depths) != len(self.heads):
            raise ValueError(f"depths={self.depths}, heads={self.heads}; expected one per stage")
        for width, heads in zip(self.widths, self.heads, strict=True):
            divides(heads=heads, d_model=width)

    @property
    def widths(self) -> tuple[int, ...]:
        """The width of each stage."""
        return tuple(self.d_model * 2**stage for stage in range(len(self.depths)))

"""Hyperparameters of `deepdive.models.vision.segformer`."""

from __future__ import annotations

from dataclasses import dataclass

from deepdive.core import gelu
from deepdive.core.checks import divides, each_at_least
from deepdive.core.feed_forward import Activation
from deepdive.models.config import Config


@dataclass(frozen=True)
class SegformerConfig(Config):
    """Hyperparameters of a SegFormer: six of them per stage.

    sizes, strides  kernel size and stride of each stage's patch embedding
    rates           reduction ratio per side: `rate` x `rate` tokens become one key
    ratios          feed-forward width divided by the stage's width
    """

    channels: int = 3
    depths: tuple[int, ...] = (2, 2, 2, 2)
    widths: tuple[int, ...] = (32, 64, 160, 256)
    heads: tuple[int, ...] = (1, 2, 5, 8)
    sizes: tuple[int, ...] = (7, 3, 3, 3)
    strides: tuple[int, ...] = (4, 2, 2, 2)
    rates: tuple[int, ...] = (8, 4, 2, 1)
    ratios: tuple[int, ...] = (4, 4, 4, 4)
    d_decoder: int = 256
    n_classes: int = 150
    dropout: float = 0.0
    attention_dropout: float = 0.0
    decoder_dropout: float = 0.1
    activation: Activation = gelu
    family: str = "segformer"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("depths", "widths", "heads", "sizes", "strides", "rates", "ratios"):
            values = getattr(self, name)
            each_at_least(1, name, values)
            if len(values) != len(self.widths):
                raise ValueError(f"{name}={values}, widths={self.widths}; expected one per stage")
        for width, heads in zip(self.widths, self.heads, strict=True):
            divides(heads=heads, widths=width)

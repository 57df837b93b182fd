"""Hyperparameters of `deepdive.models.vision.mae`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from deepdive.models.vision.embeddings import SinCosImageEmbeddings
from deepdive.models.vision.vit import VisionConfig


@dataclass(frozen=True)
class MaeConfig(VisionConfig):
    """`VisionConfig` plus the decoder's hyperparameters.

    decoder_d_model ...  the decoder's sizes
    share                masking ratio: the fraction of patches masked in training
    normalised           whether the target pixels are normalized per patch: minus their mean,
                         divided by their standard deviation
    """

    decoder_d_model: int = 512
    decoder_n_heads: int = 16
    decoder_n_layers: int = 8
    decoder_d_ff: int = 2048
    share: float = 0.75
    normalized: bool = True
    embeddings: Callable[[Any], nn.Module] = SinCosImageEmbeddings
    family: str = "vit_mae"

    def decoder(self) -> MaeConfig:
        """The config of a ViT of the decoder's sizes."""
        return self.but(
            d_model=self.decoder_d_model,
            n_heads=self.decoder_n_heads,
            n_layers=self.decoder_n_layers,
            d_ff=self.decoder_d_ff,
        )

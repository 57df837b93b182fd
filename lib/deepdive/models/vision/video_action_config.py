"""The record of a Video Action Transformer."""

from dataclasses import dataclass

from deepdive.models.config import Config


@dataclass(frozen=True)
class VideoActionConfig(Config):
    """d_features: width of a film's features; d_place: of what is joined to them for the place,
    and again for the time; bins: how many rows and columns of a region are looked at.
    """

    d_features: int = 832
    d_place: int = 32
    d_model: int = 128
    n_heads: int = 2
    n_layers: int = 3
    d_ff: int = 512
    bins: int = 7
    n_classes: int = 80
    dropout: float = 0.3


BASE = VideoActionConfig()
TINY = BASE.but(d_features=16, d_place=4, d_model=16, d_ff=32, bins=2, n_classes=5, dropout=0.0)

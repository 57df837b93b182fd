"""Sizes of Transformer-XL (`deepdive.models.efficient.transformer_xl`)."""

from dataclasses import dataclass
from typing import ClassVar

from deepdive.models.config import Config


@dataclass(frozen=True)
class XLConfig(Config):
    """Transformer-XL's config. `n_memory`: cached positions; None: all. `longest`: larger distances
    count as this one. `same_length`: each query attends to `n_memory` states, its own included.
    `share_uv`: all layers share u and v.
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("n_layers", "n_memory")

    vocab_size: int = 204
    d_model: int = 512
    n_heads: int = 8
    d_head: int = 64
    n_layers: int = 12
    d_ff: int = 2048
    dropout: float = 0.1
    eps: float = 1e-5
    n_memory: int | None = 512
    longest: int | None = None
    same_length: bool = False
    share_uv: bool = True


BASE = XLConfig()
TINY = BASE.but(
    vocab_size=32, d_model=16, n_heads=4, d_head=4, n_layers=2, d_ff=32, dropout=0.0, n_memory=8
)

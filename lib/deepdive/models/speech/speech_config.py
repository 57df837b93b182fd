"""Hyperparameters of speech-to-text models, with the components that a family exchanges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from deepdive.core import Position, relu
from deepdive.core.checks import divides, each_at_least
from deepdive.core.feed_forward import Activation
from deepdive.models.config import Config


@dataclass(frozen=True)
class SpeechConfig(Config):
    """Hyperparameters of a speech-to-text model, and the components that its family exchanges.

    front, encoder  config -> the downsampling front end, the whole encoder
    n_features      features per frame; `width` and `kernels` are the front end's
    window          frames per input, where their number is fixed
    max_length      maximum tokens of a text, where positions are learned
    scale           factor on features and embeddings; None: sqrt(d_model)
    start, end      ids of the token that starts decoding and of the one that ends a text
    """

    MAY_BE_ZERO: ClassVar[Any] = ("n_layers", "n_decoder_layers", "pad", "start", "end")

    front: Callable[[Any], nn.Module]
    encoder: Callable[[Any], nn.Module]
    position: Callable[[Any], Position]
    decoder_position: Callable[[Any], Position]
    attention: Callable[..., nn.Module]
    family: str
    n_features: int = 80
    vocab_size: int = 10_000
    d_model: int = 256
    n_layers: int = 12
    n_decoder_layers: int = 6
    n_heads: int = 4
    n_decoder_heads: int = 4
    d_ff: int = 2048
    d_decoder_ff: int = 2048
    width: int = 1024
    kernels: tuple[int, ...] = (5, 5)
    window: int = 3000
    max_length: int = 448
    activation: Activation = relu
    scale: float | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.0
    ff_dropout: float = 0.0
    pad: int = 1
    start: int = 2
    end: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        each_at_least(1, "kernels", self.kernels)
        divides(n_decoder_heads=self.n_decoder_heads, d_model=self.d_model)

    @property
    def factor(self) -> float:
        """Return the factor that multiplies features and embeddings."""
        return self.d_model**0.5 if self.scale is None else self.scale

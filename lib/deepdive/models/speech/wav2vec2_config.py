"""Hyperparameters of `deepdive.models.speech.wav2vec2`.

Long because its whole family exchanges the components that it names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PostNorm, gelu
from deepdive.core.feed_forward import Activation
from deepdive.layers.speech_frontend import (
    ConvPositionalEmbedding,
    FeatureEncoder,
    check_steps,
    group_norm_first,
)
from deepdive.models.config import Config


def block(config: SoundConfig, layer: int) -> Block:
    """Return one layer."""
    return Block(
        MultiHeadAttention(config.d_model, config.n_heads, dropout=config.attention_dropout),
        FeedForward(config.d_model, config.d_ff, config.activation, config.ff_dropout),
        residual=partial(
            config.residual, norm=partial(LayerNorm, eps=config.eps), dropout=config.dropout
        ),
    )


@dataclass(frozen=True)
class SoundConfig(Config):
    """Hyperparameters of a speech encoder, and the components that its family exchanges.

    channels                  values per time step: 1 for a waveform, 13 for cepstra
    widths, kernels, strides  of each convolution
    norms                     (layer, width) -> the norm of a convolution
    place_width, place_groups kernel and groups of a positional convolution; place_layers: how many
    masked                    whether there is a mask embedding
    codes, codebooks          entries per codebook, and codebooks (`Quantizer`); d_code, d_target:
                              the width of a code, and of the compared vectors
    temperature               of the contrastive loss; n_negatives: distractors per masked frame
    vocab_size                characters of a CTC head (`for_ctc`), including the blank
    residual                  norm placement in a layer: `PostNorm` or `PreNorm`
    features, places          config -> the convolutions, the positional embedding
    block                     (config, layer) -> one layer
    family                    name of its published form (`deepdive.published`)
    """

    channels: int = 1
    widths: tuple[int, ...] = (512,) * 7
    kernels: tuple[int, ...] = (10, 3, 3, 3, 3, 2, 2)
    strides: tuple[int, ...] = (5, 2, 2, 2, 2, 2, 2)
    convolution_bias: bool = False
    norms: Callable[[int, int], nn.Module] = group_norm_first
    place_width: int = 128
    place_groups: int = 16
    place_layers: int = 1
    d_model: int = 768
    n_heads: int = 12
    n_layers: int = 12
    d_ff: int = 3072
    masked: bool = True
    codes: int = 320
    codebooks: int = 2
    d_code: int = 256
    d_target: int = 256
    temperature: float = 0.1
    n_negatives: int = 100
    vocab_size: int = 32
    dropout: float = 0.1
    ff_dropout: float = 0.1
    attention_dropout: float = 0.1
    project_dropout: float = 0.0
    final_dropout: float = 0.1
    eps: float = 1e-5
    activation: Activation = gelu
    convolution_activation: Activation = gelu
    residual: Any = PostNorm
    features: Callable[[Any], nn.Module] = FeatureEncoder
    places: Callable[[Any], nn.Module] = ConvPositionalEmbedding
    block: Callable[[Any, int], Block] = block
    family: str = "wav2vec2"

    def __post_init__(self) -> None:
        """Raise ValueError as `Config` does, and where convolutions are not fully described."""
        super().__post_init__()
        check_steps(self.widths, self.kernels, self.strides)

"""Conformer: a Transformer block with a convolution module. Gulati et al.
2020, "Conformer: Convolution-augmented Transformer for Speech Recognition".

Long because no parent has a layer of four sublayers, two of them half-step.

System: conformer
Parent: speech2text
What differs:
- a convolution module follows the attention: a depthwise convolution over time between two
  pointwise ones, the first of them gated (`GatedConvolution`)
- two feed-forward layers with swish enclose both, each added with weight 1/2 (`HalfStep`)
- relative position encoding in the attention scores, as in Transformer-XL (`XLPosition`); no
  position is added to the inputs
- each block ends with a layer norm, and the stack has none (`ConformerBlock`)
Source: Gulati et al. 2020, sections 2.1 to 2.4 and table 1.
Book: 6.3.2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from deepdive.core import (
    Block,
    Context,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    Position,
    PreNorm,
)
from deepdive.core.residual import Sublayer
from deepdive.core.stack import Stack
from deepdive.layers.convolution import GatedConvolution
from deepdive.models.speech import speech2text
from deepdive.models.speech.speech_config import SpeechConfig
from deepdive.models.speech.speech_encoder import SpeechEncoder
from deepdive.positions import XLPosition


class HalfStep(PreNorm):
    """x + dropout(sublayer(norm(x))) / 2."""

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the hidden states (B, T, d_model) after half a residual step."""
        return x + self.dropout(sublayer(self.norm(x))) / 2


class ConformerBlock(Block):
    """x = x + ff(x) / 2;  x = x + attn(x);  x = x + conv(x);  x = norm(x + ff_2(x) / 2), each
    sublayer with a pre-norm of its own.
    """

    def __init__(self, config: ConformerConfig) -> None:
        d_model, drop = config.d_model, config.dropout
        attn = MultiHeadAttention(
            d_model, config.n_heads, dropout=config.attention_dropout,
            position=XLPosition(d_model, config.n_heads),
        )  # fmt: skip
        conv = GatedConvolution(d_model, config.kernel)
        ff, ff_2 = (FeedForward(d_model, config.d_ff, F.silu, config.ff_dropout) for _ in range(2))
        residual, order = partial(PreNorm, dropout=drop), ("ff", "attn", "conv", "ff_2")
        super().__init__(attn, ff, residual=residual, order=order, conv=conv, ff_2=ff_2)
        self.ff_residual, self.ff_2_residual = (HalfStep(d_model, dropout=drop) for _ in range(2))
        self.norm = LayerNorm(d_model)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the hidden states (B, T, d_model). Raises ValueError for a memory and a cache."""
        return self.stream(self.norm(self.joined(x, context)))


@dataclass(frozen=True)
class ConformerConfig(SpeechConfig):
    """Hyperparameters of a Conformer encoder; `kernel`: width of the depthwise convolution."""

    kernel: int = 31


def conformer_encoder(config: ConformerConfig) -> SpeechEncoder:
    """Return the encoder that replaces Speech2Text's (`SpeechConfig.encoder`)."""
    stack = Stack(lambda _: ConformerBlock(config), config.n_layers)
    return SpeechEncoder(config.front(config), Position(), stack, 1.0, config.dropout)


def changed(config: SpeechConfig, **changes: Any) -> ConformerConfig:
    """Return Speech2Text's config with this encoder."""
    return ConformerConfig(**{**vars(config), "encoder": conformer_encoder, **changes})


SMALL = changed(speech2text.BASE, d_model=144, n_layers=16, n_heads=4, d_ff=576)
MEDIUM = SMALL.but(d_model=256, d_ff=1024)
LARGE = SMALL.but(d_model=512, n_layers=17, n_heads=8, d_ff=2048)
TINY = changed(speech2text.TINY, kernel=3)


def conformer(config: ConformerConfig = SMALL, **changes: Any) -> SpeechEncoder:
    """Build an encoder (frames, mask) -> (states, which are real); defaults are the paper's small
    one. `speech2text(config)` adds a decoder to it.
    """
    return conformer_encoder(ConformerConfig.given(config, changes))

"""Whisper: an encoder-decoder Transformer trained on 680,000 hours of captioned audio. Radford et
al. 2022, "Robust Speech Recognition via Large-Scale Weak Supervision".

System: whisper
Parent: speech2text
What differs:
- audio comes in windows of 30 seconds, padded with silence; there is no padding mask (`Window`)
- two convolutions with GELU, of which one halves the frames, replace two gated convolutions
- keys have no bias (`KeysWithoutBias`)
- the encoder's sinusoids count from 0, the decoder's positions are learned; nothing is scaled
- the first tokens specify the task: the language, transcription or translation (a `prompt`)
Source: Radford et al. 2022, sections 2.2 and 2.3, table 1, and their released code.
Book: 6.3.2
"""

from typing import Any

from torch import nn

from deepdive.attention.heads.projections import KeysWithoutBias
from deepdive.core import Position, gelu
from deepdive.layers.subsample import Window
from deepdive.models.config import learned_positions
from deepdive.models.speech import speech2text
from deepdive.models.speech.speech2text import Speech2Text
from deepdive.models.speech.speech_config import SpeechConfig
from deepdive.positions import BlockedSinusoidalPosition


def window(config: SpeechConfig) -> nn.Module:
    return Window(config.n_features, config.d_model, config.window, config.activation)


def sinusoids(config: SpeechConfig) -> Position:
    return BlockedSinusoidalPosition(config.d_model, steps=config.d_model / 2 - 1)


def sized_config(d_model: int, n_heads: int, n_layers: int) -> SpeechConfig:
    """Return a config of one of the paper's sizes, with equal encoder and decoder."""
    return speech2text.BASE.but(
        vocab_size=51_865, d_model=d_model, n_heads=n_heads, n_decoder_heads=n_heads,
        n_layers=n_layers, n_decoder_layers=n_layers, d_ff=4 * d_model, d_decoder_ff=4 * d_model,
        activation=gelu, scale=1.0, dropout=0.0, pad=50_257, start=50_258, end=50_257,
        front=window, position=sinusoids, decoder_position=learned_positions,
        attention=KeysWithoutBias, family="whisper",
    )  # fmt: skip


SMALLEST, BASE = sized_config(384, 6, 4), sized_config(512, 8, 6)  # published as "tiny" and "base"
SMALL, MEDIUM = sized_config(768, 12, 12), sized_config(1024, 16, 24)
LARGE = sized_config(1280, 20, 32)
TINY = sized_config(32, 4, 2).but(n_features=8, vocab_size=32, n_decoder_layers=1, window=24,
                           max_length=16, pad=1, start=2, end=2)  # fmt: skip


def whisper(config: SpeechConfig = BASE, **changes: Any) -> Speech2Text:
    """Build a speech recognizer for fixed windows; defaults are the paper's base model."""
    return speech2text.speech2text(config, **changes)

"""Speech2Text: an encoder-decoder Transformer for speech recognition and translation. Wang et al.
2020, "fairseq S2T: Fast Speech-to-Text Modeling with fairseq".

Long because its components have names by which its family exchanges them (`SpeechConfig`).

System: speech2text
Parent: transformer
What differs:
- the input is frames of sound, such as log-mel spectra; two gated convolutions of stride 2
  downsample them about fourfold (`Subsample`), because a second has 100 frames and 3 words
- pre-norm: layer norms inside the residual branches, plus one after each stack (`PreNorm`)
- sinusoidal positions, sines and cosines in two blocks, counted from 2 (`sinusoids`)
- the encoder is twice as deep as the decoder (`BASE`)
Source: Wang et al. 2020, sections 2 and 3.1, and their released code.
Book: 6.3.2
"""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor, nn

from deepdive.core import (
    Block,
    DecodingState,
    FeedForward,
    KVCache,
    LayerNorm,
    MultiHeadAttention,
    Position,
    PreNorm,
)
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.masks import Padding
from deepdive.core.stack import Stack
from deepdive.layers.subsample import Subsample
from deepdive.models.speech.speech_config import SpeechConfig
from deepdive.models.speech.speech_encoder import SpeechEncoder
from deepdive.models.transformer.transformer import Decoder, Transformer
from deepdive.positions import BlockedSinusoidalPosition


class Speech2Text(Transformer):
    """Logits (B, T, V) for the token that follows each of tgt, a text for the speech src.

    src are frames (B, S, n_features), or whatever `encoder` takes; src_mask bool (B, S). It is
    decoded as any `Transformer`: `greedy(model, frames, mask, bos=2, eos=2)`.
    """

    encoder: Any

    def __init__(self, encoder: nn.Module, decoder: Decoder, head: nn.Module, config: Any) -> None:
        super().__init__(encoder, decoder, head)
        self.config = config

    def check_source(self, src: Tensor) -> None:
        """Check nothing: the encoder validates its own input."""

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> DecodingState:
        """Encode the sound once, and return the state that `step` continues."""
        memory, real = self.encoder(src, src_mask)
        return DecodingState(KVCache(), memory, None if real is None else Padding(real))


def subsample(config: SpeechConfig) -> nn.Module:
    return Subsample(config.n_features, config.d_model, config.width, config.kernels)


def sinusoids(config: SpeechConfig) -> Position:
    """Return positions counted from the padding id + 1, as both share one table."""
    steps = config.d_model / 2 - 1
    return BlockedSinusoidalPosition(config.d_model, steps=steps, offset=config.pad + 1)


def block(config: SpeechConfig, n_heads: int, d_ff: int, cross: bool = False) -> Block:
    """Return one pre-norm layer."""

    def attention() -> nn.Module:
        return config.attention(config.d_model, n_heads, dropout=config.attention_dropout)

    ff = FeedForward(config.d_model, d_ff, config.activation, config.ff_dropout)
    joint = partial(PreNorm, dropout=config.dropout)
    return Block(attention(), ff, attention() if cross else None, joint)


def encoder(config: SpeechConfig) -> nn.Module:
    layers = Stack(
        lambda _: block(config, config.n_heads, config.d_ff),
        config.n_layers,
        LayerNorm(config.d_model),
    )
    front, position = config.front(config), config.position(config)
    return SpeechEncoder(front, position, layers, config.factor, config.dropout)


BASE = SpeechConfig(  # s2t_transformer_s, for LibriSpeech
    subsample, encoder, sinusoids, sinusoids, MultiHeadAttention, "speech_to_text"
)
MEDIUM = BASE.but(d_model=512, n_heads=8, n_decoder_heads=8)
LARGE = BASE.but(d_model=1024, n_heads=16, n_decoder_heads=16, d_ff=4096, d_decoder_ff=4096)
TINY = BASE.but(
    n_features=8, vocab_size=32, d_model=32, n_layers=2, n_decoder_layers=1, d_ff=64,
    d_decoder_ff=48, width=24, kernels=(5, 3), dropout=0.0,
)  # fmt: skip


def speech2text(config: SpeechConfig = BASE, **changes: Any) -> Speech2Text:
    """Build a speech-to-text model; defaults are the small published one's."""
    config = SpeechConfig.given(config, changes)
    embedding = TokenEmbedding(config.vocab_size, config.d_model, config.factor)
    layers = Stack(
        lambda _: block(config, config.n_decoder_heads, config.d_decoder_ff, cross=True),
        config.n_decoder_layers,
        LayerNorm(config.d_model),
    )
    decoder = Decoder(embedding, config.decoder_position(config), layers, config.dropout)
    return Speech2Text(config.encoder(config), decoder, TiedHead(embedding), config)

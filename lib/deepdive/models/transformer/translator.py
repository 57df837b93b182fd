"""Transformer of the published translation models: Marian, FSMT, and BART's family are configs
of it.

Long because both the class and the builder that all of them share are here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention
from deepdive.core.stack import Stack
from deepdive.models.transformer.transformer import Decoder, Encoder, Transformer
from deepdive.models.transformer.translator_config import TranslatorConfig


class Translator(Transformer):
    """`Transformer` that stores the config it was built from, which saving and loading need."""

    def __init__(
        self, encoder: Encoder, decoder: Decoder, head: nn.Module, config: TranslatorConfig
    ) -> None:
        super().__init__(encoder, decoder, head)
        self.config = config


TOY: dict[str, Any] = {
    "src_vocab": 32, "d_model": 32, "n_layers": 2, "n_decoder_layers": 1, "n_heads": 4,
    "n_decoder_heads": 4, "d_ff": 64, "d_decoder_ff": 48,
}  # fmt: skip


def translator(config: TranslatorConfig, **changes: Any) -> Translator:
    """Build a translation model from `config` with `changes` to its fields. A residual scheme that
    leaves the residual stream unnormalized (`final_norm`) gets a final norm after each stack.

    Raises TypeError for a config that is not a `TranslatorConfig` and for an unknown field.
    """
    config = TranslatorConfig.given(config, changes)
    residual = partial(config.residual, dropout=config.dropout)

    def feed_forward(d_ff: int) -> FeedForward:
        return FeedForward(config.d_model, d_ff, config.activation, config.ff_dropout)

    def attention() -> MultiHeadAttention:
        sizes = config.d_model, config.n_decoder_heads
        return MultiHeadAttention(*sizes, dropout=config.attention_dropout)

    def encoder_block(layer: int) -> Block:
        ff = feed_forward(config.d_ff)
        return Block(config.attention(config, layer), ff, None, residual)

    def decoder_block(_layer: int) -> Block:
        other, ff = attention(), feed_forward(config.d_decoder_ff)
        return Block(attention(), ff, other, residual)

    def stack(block: Callable[[int], Block], n_layers: int) -> Stack:
        final = getattr(config.residual, "final_norm", False)
        return Stack(block, n_layers, LayerNorm(config.d_model) if final else None)

    source, target, head = config.vocabularies(config)
    encoders = stack(encoder_block, config.n_layers)
    decoders = stack(decoder_block, config.n_decoder_layers)
    return Translator(
        Encoder(source, config.position(config), encoders, config.dropout),
        Decoder(target, config.position(config), decoders, config.dropout),
        head,
        config,
    )

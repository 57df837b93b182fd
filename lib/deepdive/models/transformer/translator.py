"""The Transformer of the published translators: one record of sizes and parts, of which Marian and
FSMT are two, and BART's family the other.

Long because the class, the record and the builder of all are here: each of them is a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from torch import nn

from deepdive.core import (
    Block,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    Position,
    PostNorm,
    relu,
)
from deepdive.core.checks import divides
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.feed_forward import Activation
from deepdive.core.stack import Stack
from deepdive.models.config import Config
from deepdive.models.transformer.transformer import Decoder, Encoder, Transformer


class Translator(Transformer):
    """A `Transformer` that keeps the record it was built from, by which it is published."""

    def __init__(
        self, encoder: Encoder, decoder: Decoder, head: nn.Module, config: TranslatorConfig
    ) -> None:
        super().__init__(encoder, decoder, head)
        self.config = config


def every_token(config: TranslatorConfig, _layer: int) -> nn.Module:
    """Return attention in which every token sees every token."""
    return MultiHeadAttention(config.d_model, config.n_heads, dropout=config.attention_dropout)


@dataclass(frozen=True)
class TranslatorConfig(Config):
    """The numbers of a translator, whose two sides may differ in size, and what the published ones
    exchange.

    vocabularies       config -> the source's embedding, the target's, the output layer
    position           config -> the positions of a side
    attention          config, layer -> how a layer of the encoder looks at its own rows
    residual           how a sublayer joins the stream
    family             how its published form is called (`deepdive.published`)
    tgt_vocab          None: the target has the source's vocabulary
    scale              of the embeddings; None: sqrt(d_model)
    dropout            on embeddings and on what each sublayer says
    attention_dropout  on the weights of attention
    ff_dropout         after the activation
    pad, start, end    tokens: padding (None: the source's last), what decoding begins with (None:
                       padding), what ends a sentence
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = (
        *("n_layers", "n_decoder_layers", "pad", "start", "end"),
    )

    vocabularies: Callable[[Any], tuple[TokenEmbedding, TokenEmbedding, nn.Module]]
    position: Callable[[Any], Position]
    family: str
    src_vocab: int
    tgt_vocab: int | None = None
    d_model: int = 512
    n_layers: int = 6
    n_decoder_layers: int = 6
    n_heads: int = 8
    n_decoder_heads: int = 8
    d_ff: int = 2048
    d_decoder_ff: int = 2048
    activation: Activation = relu
    scale: float | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.0
    ff_dropout: float = 0.0
    pad: int | None = None
    start: int | None = None
    end: int = 0
    residual: Callable[..., nn.Module] = PostNorm
    attention: Callable[[Any, int], nn.Module] = every_token

    def __post_init__(self) -> None:
        super().__post_init__()
        divides(n_decoder_heads=self.n_decoder_heads, d_model=self.d_model)

    @property
    def padding(self) -> int:
        """Return the token of padding."""
        return self.src_vocab - 1 if self.pad is None else self.pad

    def embedding(self, vocab_size: int | None) -> TokenEmbedding:
        """Return an embedding of this size (None: the source's), scaled as this record says."""
        scale = self.d_model**0.5 if self.scale is None else self.scale
        return TokenEmbedding(vocab_size or self.src_vocab, self.d_model, scale)


TOY: dict[str, Any] = {
    "src_vocab": 32, "d_model": 32, "n_layers": 2, "n_decoder_layers": 1, "n_heads": 4,
    "n_decoder_heads": 4, "d_ff": 64, "d_decoder_ff": 48,
}  # fmt: skip


def translator(config: TranslatorConfig, **changes: Any) -> Translator:
    """Build a translator of `config`, with these fields of it changed. A residual scheme that
    leaves the stream unnormalised (`final_norm`) gets a norm at the end of each stack.

    Raises TypeError for a config that is no `TranslatorConfig`, and for a field that it has not.
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

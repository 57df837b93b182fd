"""Config of `deepdive.models.transformer.translator`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from deepdive.core import Position, PostNorm, relu
from deepdive.core.checks import divides
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.feed_forward import Activation
from deepdive.models.config import Config, full_attention


@dataclass(frozen=True)
class TranslatorConfig(Config):
    """Config of an encoder-decoder for translation: sizes of encoder and decoder, which may differ,
    and the modules that vary between published models.

    vocabularies       config -> source embedding, target embedding, output layer
    position           config -> position encoding of the encoder or of the decoder
    attention          config, layer -> self-attention of an encoder layer
    residual           residual connection around each sublayer
    family             name of its checkpoint format in `deepdive.published`
    tgt_vocab          None: source and target share the vocabulary
    scale              of the embeddings; None: sqrt(d_model)
    dropout            on embeddings and on each sublayer's output
    attention_dropout  on the attention weights
    ff_dropout         after the activation
    pad, start, end    token ids: padding (None: the source's last), first decoder input (None:
                       padding), end of sequence
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
    attention: Callable[[Any, int], nn.Module] = full_attention

    def __post_init__(self) -> None:
        super().__post_init__()
        divides(n_decoder_heads=self.n_decoder_heads, d_model=self.d_model)

    @property
    def padding(self) -> int:
        """Return the id of the padding token."""
        return self.src_vocab - 1 if self.pad is None else self.pad

    def embedding(self, vocab_size: int | None) -> TokenEmbedding:
        """Return a token embedding for `vocab_size` (None: the source's), scaled by `scale`."""
        scale = self.d_model**0.5 if self.scale is None else self.scale
        return TokenEmbedding(vocab_size or self.src_vocab, self.d_model, scale)

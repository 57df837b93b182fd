"""CANINE: a tokenization-free encoder over characters. Clark et al. 2022, "CANINE: Pre-training an
Efficient Tokenization-Free Encoder for Language Representation".

Its inputs are Unicode code points, `ord(character)`; 57344 and 57345 (U+E000, U+E001) stand
for [CLS] and [SEP], 0 for padding. A text has as many of them as characters, so the deep stack
gets one position for four. As released, the first of its positions is [CLS]'s alone, the last four
characters have none, and a position counts as real where the four characters after its own are.

Long because it holds the config of its three stacks.

Its two pretraining losses (over subwords, or over characters) are not published as heads.

System: canine
Parent: mbert
What differs:
- no token embeddings: a code point is hashed eight times, and its embedding concatenates an eighth
  from each table (`HashEmbedding`, `n_hashes`, `n_buckets`)
- a first layer with local attention, in chunks of 128 characters (`ChunkAttention`, `chunk`)
- a strided convolution downsamples `rate` characters to one position for the deep stack
  (`Downsample`)
- the output is upsampled to one state per character, from its own local state and the deep one
  (`Upsample`, `kernel`), followed by one more layer with full attention
Source: Clark et al. 2022, section 3, and their released code.
Book: the blog's CANINE
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from deepdive.attention import ChunkAttention
from deepdive.core import MultiHeadAttention, Position
from deepdive.core.embeddings import check_tokens
from deepdive.core.masks import padding
from deepdive.core.stack import Stack
from deepdive.layers.hashed import CODE_POINTS
from deepdive.layers.sequence_resampling import Downsample, Upsample
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert, block
from deepdive.models.bert.embeddings import BertEmbeddings, CodePointEmbeddings
from deepdive.positions import LearnedPosition


class Canine(Bert):
    """Code points (B, T) -> a hidden state for each, (B, T, d_model); T is `rate` at least.

    Padding counts as 0 in both convolutions, so a text's own characters do not depend on its
    content; in the released code it counts.
    """

    def __init__(self, embeddings: BertEmbeddings, stack: Stack, config: CanineConfig) -> None:
        super().__init__(embeddings, stack, config)
        self.first, self.last = block(config.but(attention=in_chunks), 0), block(config, 0)
        sizes = config.d_model, config.activation, config.eps
        self.downsample = Downsample(config.rate, *sizes)
        self.upsample = Upsample(config.kernel, *sizes, config.dropout)

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the states of `tokens`; `mask` bool (B, T), True = real; `segments` int (B, T),
        None = all 0.
        """
        check_tokens(tokens)
        real = padding(mask, tokens, "mask")
        positions = self.embeddings.positions(tokens, mask)
        local = self.first(self.embeddings(tokens, segments, positions), mask=real)
        few, those = self.downsample(local, mask)
        few = self.stack(few, mask=padding(those, few[..., 0], "mask"))
        return self.last(self.upsample(local, few, self.downsample.rate, mask), mask=real)


def in_chunks(config: CanineConfig, layer: int) -> MultiHeadAttention:
    """Return attention in which a character attends to its own chunk."""
    chunks = ChunkAttention(config.chunk, 0, 0, dropout=config.weights_dropout)
    return MultiHeadAttention(config.d_model, config.n_heads, mechanism=chunks)


def by_buckets(config: CanineConfig) -> LearnedPosition:
    """Return position embeddings with as many rows as there are buckets, as released."""
    return LearnedPosition(config.n_buckets, config.d_model)


@dataclass(frozen=True)
class CanineConfig(EncoderConfig):
    """n_hashes, n_buckets  hash tables per code point, and the rows of each
    chunk                characters per chunk of local attention in the first layer
    rate                 downsampling rate: characters per position of the deep stack
    kernel               kernel width of the upsampling convolution

    `vocab_size` is Unicode's, and `max_length` is used only in the published form: there are
    `n_buckets` position embeddings.
    """

    vocab_size: int = CODE_POINTS
    max_length: int = 16_384
    n_segments: int = 16
    n_hashes: int = 8
    n_buckets: int = 16_384
    chunk: int = 128
    rate: int = 4
    kernel: int = 4
    embeddings: type[BertEmbeddings] = CodePointEmbeddings
    position: Callable[[Any], Position] = by_buckets
    model: type[Bert] = Canine
    family: str = "canine"


BASE = CanineConfig()
TINY = BASE.but(
    **TOY | {"vocab_size": CODE_POINTS, "n_buckets": 64, "chunk": 4, "rate": 2, "n_segments": 2}
)


def canine(config: CanineConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the released models'."""
    return bert(config, **changes)

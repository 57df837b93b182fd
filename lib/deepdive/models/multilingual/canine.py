"""CANINE: an encoder without a vocabulary. Clark et al. 2022, "CANINE: Pre-training an Efficient
Tokenization-Free Encoder for Language Representation".

What it reads are Unicode's code points, `ord(character)`; 57344 and 57345 (U+E000, U+E001) stand
for [CLS] and [SEP], 0 for padding. A text has as many of them as characters, so the deep stack
reads one row for four. As released, the first of its rows is [CLS]'s alone, the last four
characters have none, and a row counts as real where the four characters after its own are.

Long because it holds the record of its three stacks.

Its two trainings (gaps that name word pieces, or characters in turn) are not published as heads.

System: canine
Parent: mbert
What differs:
- there is no table of tokens: a code point is hashed eight times, and has an eighth of its row from
  each table (`HashEmbedding`, `n_hashes`, `n_buckets`)
- a first layer, in which characters see their own chunk of 128 (`ChunkAttention`, `chunk`)
- then a strided convolution makes `rate` characters one row, which the deep stack reads
  (`Downsample`)
- at last a row for each character again, from its own and from that of its four (`Upsample`,
  `kernel`), and one more layer, over the whole text
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
    """Code points (B, T) -> a state for each, (B, T, d_model); T is `rate` at least.

    A row under padding counts as 0 in both convolutions, so that a text's own characters do not
    depend on what lies there; in the released code it counts.
    """

    def __init__(self, embeddings: BertEmbeddings, stack: Stack, config: CanineConfig) -> None:
        super().__init__(embeddings, stack, config)
        self.first, self.last = block(config.but(attention=in_chunks), 0), block(config, 0)
        sizes = config.d_model, config.activation, config.eps
        self.shorten = Downsample(config.rate, *sizes)
        self.lengthen = Upsample(config.kernel, *sizes, config.dropout)

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
        few, those = self.shorten(local, mask)
        few = self.stack(few, mask=padding(those, few[..., 0], "mask"))
        return self.last(self.lengthen(local, few, self.shorten.rate, mask), mask=real)


def in_chunks(config: CanineConfig, layer: int) -> MultiHeadAttention:
    """Return attention in which a character sees its own chunk."""
    chunks = ChunkAttention(config.chunk, 0, 0, dropout=config.weights_dropout)
    return MultiHeadAttention(config.d_model, config.n_heads, mechanism=chunks)


def by_buckets(config: CanineConfig) -> LearnedPosition:
    """Return a table of places with as many rows as there are buckets, as released."""
    return LearnedPosition(config.n_buckets, config.d_model)


@dataclass(frozen=True)
class CanineConfig(EncoderConfig):
    """n_hashes, n_buckets  tables of a code point's row, and the rows of each
    chunk                how many characters meet in the first layer
    rate                 how many characters are one row of the deep stack
    kernel               how many rows one of the last layer's is made of

    `vocab_size` is Unicode's, and `max_length` is told in the published form alone: the table of
    places has `n_buckets` rows.
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

"""HIBERT: a hierarchical encoder of documents, sentences first. Zhang et al. 2019, "HIBERT:
Document Level Pre-training of Hierarchical Bidirectional Transformers for Document Summarization".

Long because its two levels are separate parts, which Hi-Transformer uses in another order.
Positions are learned, and sizes are BERT's, in both encoders. For pretraining by masked sentences
see `hibert_pretraining`.

System: hibert
Parent: bert
What differs:
- the input is a document, (B, S, T): S sentences of T tokens. Each sentence is encoded by itself
  (`Hibert.words`), so that a token attends only to tokens of its sentence
- a sentence's vector is the state at its last real token, an end token (`Sentences.vectors`)
- a second encoder, with sentence positions, encodes the sequence of sentence vectors
  (`DocumentEncoder`)
- pretraining masks sentences, which a decoder predicts word by word (`HibertForMaskedSentences`)
Source: Zhang et al. 2019, section 3.
Book: 5.1.5
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm
from deepdive.core.masks import padding
from deepdive.core.position import Position
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.layers.sentence_vectors import Sentences
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert, block


class DocumentEncoder(nn.Module):
    """y = stack(dropout(norm(x + position))): sentence vectors (B, S, d_model) -> states (B, S,
    d_model), each in the context of the document.
    """

    def __init__(self, position: Position, stack: Stack, d_model: int, dropout: float, eps: float):
        super().__init__()
        self.position, self.stack = position, stack
        self.norm, self.dropout = LayerNorm(d_model, eps), nn.Dropout(dropout)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """Return the states of sentence vectors x; `real` bool (B, S), True = a sentence."""
        positions = torch.arange(x.shape[1], device=x.device)
        x = self.dropout(self.norm(self.position.embed(x, positions)))
        return self.stack(x, mask=padding(real, real, "mask"))


class Hibert(nn.Module):
    """Token ids (B, S, T) -> sentence states (B, S, d_model). Where `mask` is False there is no
    token, and a sentence without a token is padding, which costs nothing at the word level.
    """

    def __init__(self, words: Bert, document: DocumentEncoder, config: HibertConfig) -> None:
        super().__init__()
        self.words, self.document, self.config = words, document, config

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return each sentence's state in its document; `mask` bool (B, S, T), True = real token.
        Raises ValueError for tokens that are not (B, S, T) and for a document without a token.
        """
        found = self.read(tokens, mask)
        return self.document(found.vectors(), found.real)

    def read(self, tokens: Tensor, mask: Tensor | None = None) -> Sentences:
        """Encode each sentence by itself."""
        if tokens.ndim != 3:
            raise ValueError(
                f"tokens must be (B, S, T), S sentences of T tokens; got {tuple(tokens.shape)}. A "
                "single document (S, T) is tokens[None]"
            )
        mask = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        padding(mask.flatten(1), tokens.flatten(1), "mask")  # raises for a mask that doesn't fit
        real = mask.any(-1)
        tokens, mask = tokens[real], mask[real]
        end = mask.shape[1] - 1 - mask.flip(-1).int().argmax(-1)
        return Sentences(self.words(tokens, mask), mask, end, real)


@dataclass(frozen=True)
class HibertConfig(EncoderConfig):
    """`n_layers` and `max_length` are those of a sentence, in tokens; these are of a document:

    n_document_layers, max_sentences   layers of the document encoder; sentences at most
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = (*EncoderConfig.MAY_BE_ZERO, "n_document_layers")
    n_segments: int = 0
    n_document_layers: int = 12
    max_sentences: int = 512


def document_encoder(config: HibertConfig) -> DocumentEncoder:
    """Build the encoder of sentence vectors, of the same width as the one of words."""
    position = config.position(config.but(max_length=config.max_sentences))
    stack = Stack(partial(block, config), config.n_document_layers)
    encoder = DocumentEncoder(position, stack, config.d_model, config.dropout, config.eps)
    initialize(encoder)
    return encoder


BASE = HibertConfig()
TINY = BASE.but(**TOY, n_document_layers=2, max_sentences=32)


def hibert(config: HibertConfig = BASE, **changes: Any) -> Hibert:
    """Build the two encoders from `config` with `changes` to its fields: `hibert(d_model=64)`."""
    config = HibertConfig.given(config, changes)
    return Hibert(bert(config), document_encoder(config), config)

"""Hi-Transformer: a hierarchical encoder whose words are encoded again, given the document. Wu et
al. 2021, "Hi-Transformer: Hierarchical Interactive Transformer for Efficient and Effective Long
Document Modeling".

System: hi_transformer
Parent: hibert
What differs:
- the document encoder's state of a sentence replaces the state of its end token, and a second
  encoder of words reads the sentence again (`HiTransformer.again`)
- attention pooling turns the words' states into a sentence vector, and the sentence vectors into
  one vector for the document (`pool_words`, `pool_sentences`)
- without this feedback (`feedback`), HIBERT's sentence states are pooled
Source: Wu et al. 2021, section 2.
Book: 5.1.5
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from deepdive.core.masks import padding
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.layers.heads.pretraining import AttentionPooling
from deepdive.models.bert.bert import TOY, bert, block
from deepdive.models.efficient.hibert import Hibert, HibertConfig, document_encoder


class HiTransformer(Hibert):
    """Token ids (B, S, T) -> document vectors (B, d_model).

    h, r = words(tokens), document(h at each end token)
    s    = pool_words(again(h with r in place of the end token's state))      # (B, S, d_model)
    d    = pool_sentences(s)                                                  # (B, d_model)
    """

    def __init__(self, *parts: Any, again: Stack | None) -> None:
        super().__init__(*parts)
        self.again = again
        self.pool_words = None if again is None else AttentionPooling(self.config.d_model)
        self.pool_sentences = AttentionPooling(self.config.d_model)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the document vectors; `mask` bool (B, S, T), True = real token. Raises ValueError
        for tokens that are not (B, S, T) and for a document without a token.
        """
        found = self.read(tokens, mask)
        sentences = self.document(found.vectors(), found.real)
        if self.again is not None and self.pool_words is not None:
            at = torch.arange(len(found.end), device=tokens.device), found.end
            x = found.states.index_put(at, sentences[found.real])
            x = self.again(x, mask=padding(found.mask, found.mask, "mask"))
            pooled = self.pool_words(x, found.mask)
            sentences = torch.zeros_like(sentences).index_put((found.real,), pooled)
        return self.pool_sentences(sentences, found.real)


@dataclass(frozen=True)
class HiTransformerConfig(HibertConfig):
    """`n_again_layers`: layers of the second encoder of words; `feedback`: whether there is one."""

    n_layers: int = 6
    n_document_layers: int = 6
    n_again_layers: int = 6
    feedback: bool = True


BASE = HiTransformerConfig()
TINY = BASE.but(**TOY, n_document_layers=2, n_again_layers=1, max_sentences=32)


def hi_transformer(config: HiTransformerConfig = BASE, **changes: Any) -> HiTransformer:
    """Build the encoder from `config` with `changes` to its fields; sizes aren't the paper's."""
    config = HiTransformerConfig.given(config, changes)
    again = Stack(partial(block, config), config.n_again_layers) if config.feedback else None
    if again is not None:
        initialize(again)
    return HiTransformer(bert(config), document_encoder(config), config, again=again)

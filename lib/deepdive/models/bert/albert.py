"""ALBERT: BERT with one layer, called again and again. Lan et al. 2020, "ALBERT: A Lite BERT for
Self-supervised Learning of Language Representations".

System: albert
Parent: bert
What differs:
- one block serves all layers (`one_block`): depth costs no parameters, and as much time as in BERT
- the embedding is narrow, and a matrix brings its vectors to the stream's width
  (`FactorisedEmbeddings`): (vocab_size + d_model) * d_embedding numbers in place of vocab_size *
  d_model
- the second head says which of two neighbouring texts came first, "sentence order prediction", in
  place of whether they belong together (`for_pretraining`)
- GELU by its tanh form, 30,000 pieces, and no dropout, as in the released version 2 (`BASE`)
Source: Lan et al. 2020, section 3, and their released code.
Book: 3.2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from torch import Tensor, nn

from deepdive.core import gelu_tanh
from deepdive.core.stack import Stack
from deepdive.layers.heads import Pooler, initialise
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.models.bert.pretraining import BertForPreTraining, masked_head


class FactorisedEmbeddings(BertEmbeddings):
    """x = project(BertEmbeddings): what is added and normalised is narrow, (B, T, d_embedding);
    `project` brings it to (B, T, d_model).

    Source: Lan et al. 2020, section 3.1.
    """

    project: nn.Linear

    @classmethod
    def of(cls, config: Any) -> Self:
        narrow = config.but(d_model=config.d_embedding)  # tables and norm are this wide
        embeddings = super().of(narrow)
        embeddings.project = nn.Linear(config.d_embedding, config.d_model)
        return embeddings

    def finish(self, x: Tensor) -> Tensor:
        return self.project(super().finish(x))


def one_block(config: AlbertConfig) -> Stack:
    """Return a stack that calls the same block for each layer."""
    block = config.block(config, 0)
    return Stack(lambda _layer: block, config.n_layers)


@dataclass(frozen=True)
class AlbertConfig(EncoderConfig):
    """`d_embedding`: how wide the rows of the tables are."""

    d_embedding: int = 128


BASE = AlbertConfig(
    vocab_size=30_000, dropout=0.0, activation=gelu_tanh, embeddings=FactorisedEmbeddings,
    stack=one_block, family="albert",
)  # fmt: skip
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
XLARGE = LARGE.but(d_model=2048, d_ff=8192)
XXLARGE = BASE.but(d_model=4096, n_heads=64, d_ff=16_384)
TINY = BASE.but(**TOY | {"d_embedding": 8, "n_layers": 3})


def albert(config: AlbertConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the released base model, version 2."""
    return bert(config, **changes)


def for_pretraining(encoder: Bert) -> BertForPreTraining:
    """Put both heads on an encoder; `next` has a score for each order of the two texts: 0,
    as they stood, 1, exchanged.
    """
    d_model, masked = encoder.config.d_model, masked_head(encoder)
    in_order = nn.Linear(d_model, 2)
    initialise(in_order)
    return BertForPreTraining(encoder, masked, Pooler(d_model), in_order)

"""ALBERT: BERT with parameters shared across layers. Lan et al. 2020, "ALBERT: A Lite BERT for
Self-supervised Learning of Language Representations".

System: albert
Parent: bert
What differs:
- all layers share one block (`one_block`): depth adds no parameters, but as much time as in BERT
- the embedding matrix is factorized into a narrow table and a projection to d_model
  (`FactorizedEmbeddings`): (vocab_size + d_model) * d_embedding parameters instead of vocab_size *
  d_model
- the second head predicts which of two consecutive segments came first, "sentence order
  prediction", instead of whether they belong together (`for_pretraining`)
- tanh approximation of GELU, 30,000 tokens, and no dropout, as in the released version 2 (`BASE`)
Source: Lan et al. 2020, section 3, and their released code.
Book: 3.2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from torch import Tensor, nn

from deepdive.core import gelu_tanh
from deepdive.core.stack import Stack
from deepdive.layers.heads import Pooler, initialize
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.models.bert.pretraining import BertForPreTraining, masked_head


class FactorizedEmbeddings(BertEmbeddings):
    """Factorized embeddings, x = project(BertEmbeddings): sum and norm are (B, T, d_embedding),
    which `project` maps to (B, T, d_model).

    Source: Lan et al. 2020, section 3.1.
    """

    project: nn.Linear

    @classmethod
    def of(cls, config: Any) -> Self:
        narrow = config.but(d_model=config.d_embedding)  # width of tables and norm
        embeddings = super().of(narrow)
        embeddings.project = nn.Linear(config.d_embedding, config.d_model)
        return embeddings

    def finish(self, x: Tensor) -> Tensor:
        return self.project(super().finish(x))


def one_block(config: AlbertConfig) -> Stack:
    """Return a stack whose layers share one block."""
    block = config.block(config, 0)
    return Stack(lambda _layer: block, config.n_layers)


@dataclass(frozen=True)
class AlbertConfig(EncoderConfig):
    """BERT's config with `d_embedding`, the width of the embedding tables."""

    d_embedding: int = 128


BASE = AlbertConfig(
    vocab_size=30_000, dropout=0.0, activation=gelu_tanh, embeddings=FactorizedEmbeddings,
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
    """Add both pretraining heads to an encoder; `next` scores the order of the two segments:
    0 = original, 1 = swapped.
    """
    d_model, masked = encoder.config.d_model, masked_head(encoder)
    in_order = nn.Linear(d_model, 2)
    initialize(in_order)
    return BertForPreTraining(encoder, masked, Pooler(d_model), in_order)

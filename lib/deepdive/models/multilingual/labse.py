"""LaBSE: sentence vectors that do not depend on the language. Feng et al. 2022, "Language-agnostic
BERT Sentence Embedding".

    vector = (W state + b) / |W state + b|, with the tanh of each number between, of [CLS]'s state

A sentence and its translation go through the same encoder, each for itself. What it is trained for
stands in `deepdive.training.objectives.translation_ranking`; first it fills gaps, in one language
and in pairs of translations. Published folders are read by `deepdive.published.sentences`.

System: labse
Parent: mbert
What differs:
- a text is one vector, of length 1: [CLS]'s state, through BERT's pooler (`labse`, `Squashed`)
- a pair of translations must find each other among all pairs of the batch, by a margin
  (`translation_ranking`)
- one vocabulary of 501,153 pieces, with letter case, serves 109 languages (`BASE`)
Source: Feng et al. 2022, sections 2 and 3.
Book: 4.1.3.1
"""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.layers.heads import initialise
from deepdive.models.bert.bert import MULTILINGUAL, TOY, EncoderConfig, bert
from deepdive.models.bert.sbert import SentenceEncoder, cls, normalise

BASE = MULTILINGUAL.but(vocab_size=501_153)
TINY = BASE.but(**TOY)


class Squashed(nn.Module):
    """y = tanh(W x + b) / |tanh(W x + b)|, for vectors x (B, d): each y has length 1.

    It is BERT's pooler with a length of 1, on vectors that a pooling made.
    """

    def __init__(self, d_model: int, d_out: int | None = None) -> None:
        super().__init__()
        d_out = d_model if d_out is None else d_out
        positive(d_model=d_model, d_out=d_out)
        self.dense = nn.Linear(d_model, d_out)
        initialise(self.dense)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return (B, d_out), each row of length 1."""
        return normalise(torch.tanh(self.dense(vectors)))


def labse(config: EncoderConfig = BASE, **changes: Any) -> SentenceEncoder:
    """Build the encoder of both sides; defaults are the published size."""
    config = EncoderConfig.given(config, changes)
    return SentenceEncoder(bert(config), cls, Squashed(config.d_model))

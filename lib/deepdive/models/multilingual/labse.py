"""LaBSE: language-agnostic sentence embeddings from a dual encoder. Feng et al. 2022,
"Language-agnostic BERT Sentence Embedding".

    vector = (W state + b) / |W state + b|, with an element-wise tanh between, of [CLS]'s state

A sentence and its translation pass through the same encoder, separately. The training objective
is `deepdive.training.objectives.translation_ranking`, after MLM in one language and on translation
pairs. `deepdive.published.sentences` loads published folders.

System: labse
Parent: mbert
What differs:
- a text is one vector of length 1: [CLS]'s state, through BERT's pooler (`labse`, `Squashed`)
- translations must match each other among all pairs of the batch, with an additive margin
  (`translation_ranking`)
- one cased vocabulary of 501,153 word pieces for 109 languages (`BASE`)
Source: Feng et al. 2022, sections 2 and 3.
Book: 4.1.3.1
"""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.layers.heads import initialize
from deepdive.models.bert.bert import MULTILINGUAL, TOY, EncoderConfig, bert
from deepdive.models.bert.sbert import SentenceEncoder, cls, normalize

BASE = MULTILINGUAL.but(vocab_size=501_153)
TINY = BASE.but(**TOY)


class Squashed(nn.Module):
    """y = tanh(W x + b) / |tanh(W x + b)|, for vectors x (B, d): each y has length 1.

    It is BERT's pooler with L2 normalization, applied to pooled vectors.
    """

    def __init__(self, d_model: int, d_out: int | None = None) -> None:
        super().__init__()
        d_out = d_model if d_out is None else d_out
        positive(d_model=d_model, d_out=d_out)
        self.dense = nn.Linear(d_model, d_out)
        initialize(self.dense)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return (B, d_out), each vector of length 1."""
        return normalize(torch.tanh(self.dense(vectors)))


def labse(config: EncoderConfig = BASE, **changes: Any) -> SentenceEncoder:
    """Build the encoder of both sides; defaults are the published size."""
    config = EncoderConfig.given(config, changes)
    return SentenceEncoder(bert(config), cls, Squashed(config.d_model))

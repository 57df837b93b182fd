"""DeBERTa: BERT with disentangled attention to content and position. He et al. 2021, "DeBERTa:
Decoding-enhanced BERT with Disentangled Attention".

System: deberta
Parent: bert
What differs:
- scores sum content-to-content, content-to-position, and position-to-content terms; positions are
  relative, clipped at `reach` (`DisentangledPosition`), one table for all layers (`one_table`)
- no position embeddings are added to the input, and keys have no bias (`KeysWithoutBias`)
- to predict masked tokens, the last layer runs twice on queries that start as hidden states plus
  absolute positions; keys and values remain its inputs (`deepdive.models.bert.mask_decoder`)
- RoBERTa's vocabulary, a single segment (`vocab_size`, `n_segments`); the norms' `eps` is 1e-7
Source: He et al. 2021, section 3, and their released code.
Book: 3.2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from deepdive.attention import KeysWithoutBias
from deepdive.core import Position
from deepdive.core.checks import divides
from deepdive.core.stack import Stack
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.positions import DisentangledPosition, RelativeRows


@dataclass(frozen=True)
class DebertaConfig(EncoderConfig):
    """BERT's config with `reach`: distances are clipped to it; None: `max_length`."""

    reach: int | None = None

    @property
    def d_head(self) -> int:
        divides(n_heads=self.n_heads, d_model=self.d_model)
        return self.d_model // self.n_heads

    @property
    def farthest(self) -> int:
        return self.max_length if self.reach is None else self.reach


def disentangled(config: DebertaConfig, layer: int, rows: RelativeRows) -> nn.Module:
    """Return a layer's attention, with its own projections of the shared relative embeddings."""
    d_model, n_heads = config.d_model, config.n_heads
    position = DisentangledPosition(
        rows, nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model),
        n_heads, config.d_head, config.dropout,
    )  # fmt: skip
    dropout = config.weights_dropout
    return KeysWithoutBias(
        d_model, n_heads, dropout=dropout, scale=position.scale, position=position
    )


def one_table(config: DebertaConfig) -> Stack:
    """Return the layers, which share one table of relative position embeddings."""
    rows = RelativeRows(config.d_model, config.farthest)
    given = config.but(attention=partial(disentangled, rows=rows))
    return Stack(lambda layer: config.block(given, layer), config.n_layers)


BASE = DebertaConfig(
    vocab_size=50_265, n_segments=0, eps=1e-7, position=lambda _: Position(), stack=one_table,
    family="deberta",
)  # fmt: skip
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
XLARGE = LARGE.but(n_layers=48)
TINY = BASE.but(**TOY | {"reach": 5})


def deberta(config: DebertaConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the released base model."""
    return bert(config, **changes)

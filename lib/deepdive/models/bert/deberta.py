"""DeBERTa: what a token says and where it stands are kept apart. He et al. 2021, "DeBERTa:
Decoding-enhanced BERT with Disentangled Attention".

System: deberta
Parent: bert
What differs:
- a score has three terms: content to content, content to place, place to content; places are
  distances, clipped at `reach` (`DisentangledPosition`), whose rows all layers share (`one_table`)
- nothing is added to the embeddings for a place, and keys have no bias (`KeysWithoutBias`)
- to fill gaps, the last layer is run twice by queries that begin as states with absolute places
  added; its keys and values stay the states below it (`deepdive.models.bert.mask_decoder`)
- RoBERTa's pieces and one text (`vocab_size`, `n_segments`); the norms' `eps` is 1e-7
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
    """`reach`: distances from here on are one; None: `max_length`."""

    reach: int | None = None

    @property
    def d_head(self) -> int:
        divides(n_heads=self.n_heads, d_model=self.d_model)
        return self.d_model // self.n_heads

    @property
    def farthest(self) -> int:
        return self.max_length if self.reach is None else self.reach


def disentangled(config: DebertaConfig, layer: int, rows: RelativeRows) -> nn.Module:
    """Return the attention of a layer, with projections of its own for the shared rows."""
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
    """Return the layers, all with the same rows for distances."""
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

"""DeBERTa: what a token says and where it stands are kept apart. He et al. 2021, "DeBERTa:
Decoding-enhanced BERT with Disentangled Attention".

Long because it has two parts: the encoder, and the decoder that it is trained with.

System: deberta
Parent: bert
What differs:
- a score has three terms: content to content, content to place, place to content; places are
  distances, clipped at `reach` (`DisentangledPosition`), whose rows all layers share (`one_table`)
- nothing is added to the embeddings for a place, and keys have no bias (`KeysWithoutBias`)
- to fill gaps, the last layer is run twice by queries that begin as states with absolute places
  added; its keys and values stay the states below it (`EnhancedMaskDecoder`)
- RoBERTa's pieces and one text (`vocab_size`, `n_segments`); the norms' `eps` is 1e-7
Source: He et al. 2021, section 3, and their released code.
Book: 3.2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention import MultiHeadAttention
from deepdive.fast.linear import Linear
from deepdive.layers import Block
from deepdive.layers.embeddings import check_tokens
from deepdive.layers.heads import MaskedHead
from deepdive.layers.stacks import Stack
from deepdive.masks import padding
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.pretraining import BertForMaskedLM, masked_head
from deepdive.positions import DisentangledPosition, LearnedPosition, Position, RelativeRows


@dataclass(frozen=True)
class DebertaConfig(EncoderConfig):
    """`reach`: distances from here on are one; None: `max_length`."""

    reach: int | None = None

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def farthest(self) -> int:
        return self.max_length if self.reach is None else self.reach


class KeysWithoutBias(MultiHeadAttention):
    """k = x @ W_k, v = x @ W_v + v_bias: in BERT a bias of the keys moves all scores of a query
    alike; here it would meet the place too.
    """

    def __init__(self, d_model: int, n_heads: int, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        drawn, width = self.kv.weight, n_heads * self.d_head
        self.kv = Linear(d_model, 2 * width, bias=False)
        self.kv.weight = drawn
        self.v_bias = nn.Parameter(torch.zeros(width))

    def keys_and_values(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        k, v = super().keys_and_values(rows)
        return k, v + self.v_bias.unflatten(0, (self.n_heads, 1, -1))


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


class EnhancedMaskDecoder(BertForMaskedLM):
    """An encoder whose last layer decodes: `steps` times, with the same weights, by queries that
    know absolute places.

        h = the states below the last layer,  z = h + positions
        z = last layer with queries z, keys and values h, residual z         # `steps` times

    The paper begins with z = positions; its released code, described here, adds h.
    Source: He et al. 2021, section 3.2, and the released code, `emd_context_layer`.
    """

    steps = 2

    def __init__(self, bert: Bert, masked: MaskedHead, positions: LearnedPosition) -> None:
        super().__init__(bert, masked)
        self.positions = positions

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the logits (B, T, V) of all tokens."""
        return self.masked_logits(self.decoded(tokens, mask, segments))

    def decoded(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the states z (B, T, d_model) that the head reads."""
        check_tokens(tokens)
        real = padding(mask, tokens, "mask")
        embeddings, blocks = self.bert.embeddings, self.bert.stack.blocks
        places = embeddings.positions(tokens, mask)
        h = embeddings(tokens, segments, places)
        for block in blocks[:-1]:
            h = block(h, mask=real)
        z, last = self.positions.embed(h, places), blocks[-1]
        assert isinstance(last, Block)
        for _ in range(self.steps):
            z = last.attn_residual(z, lambda asked: last.attn(asked, h, mask=real))
            z = last.ff_residual(z, last.ff)
        return z


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


def for_pretraining(encoder: Bert) -> EnhancedMaskDecoder:
    """Put the paper's decoder of gaps on an encoder. Raises ValueError for one without layers."""
    config = encoder.config
    if not config.n_layers:
        raise ValueError("n_layers=0: the last layer decodes, so the encoder needs 1 at least")
    places = LearnedPosition(config.max_length, config.d_model)
    return EnhancedMaskDecoder(encoder, masked_head(encoder), places)

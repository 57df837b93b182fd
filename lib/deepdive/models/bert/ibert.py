"""I-BERT: RoBERTa whose every operation after the first look-up is one of whole numbers. Kim et al.
2021, "I-BERT: Integer-only BERT Quantization".

    model = ibert()                                     # RoBERTa, in floats: train it, or load it
    whole = integer(model, calibrated(model, texts))    # its twin of whole numbers

`texts` are batches of tokens like those that the model will read: what they make the activations
reach fixes the scales, once and for all. `deepdive.models.bert.ibert_errors.errors` says what each
operation costs.

Long because the embeddings, which no other encoder has, have their twin of whole numbers here.

System: ibert
Parent: roberta
What differs:
- matrices and what they multiply are 8 bits, sums 32 (`IntegerLinear`); the scales are fixed
  before (`calibrated`), so that going from one to another is a product and a shift
- GELU is a polynomial of the second degree (`i_gelu`), and exp in softmax another (`i_exp`)
- the norm's square root is Newton's, on whole numbers (`i_sqrt`); what it normalises has 22 bits
Source: Kim et al. 2021, section 3, and their released code for the bits and the digits.
Book: 3.2
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, cast

import torch
from torch import Tensor, nn

from deepdive.core import Block, LayerNorm, PostNorm
from deepdive.core.embeddings import look_up
from deepdive.layers.integer_layers import (
    IntegerAttention,
    IntegerFeedForward,
    IntegerNorm,
    IntegerPostNorm,
    Ranges,
)
from deepdive.layers.integers import QuantizedTensor, quantised, scale_of
from deepdive.models.bert import roberta as parent
from deepdive.models.bert.bert import Bert, EncoderConfig, bert

BASE = parent.BASE.but(family="ibert")
LARGE = parent.LARGE.but(family="ibert")
TINY = parent.TINY.but(family="ibert")
TABLES = "token_rows", "segment_rows", "place_rows"


def ibert(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build the encoder in floats, from which `integer` makes the one of whole numbers."""
    return bert(config, **changes)


class IntegerEmbeddings(parent.RobertaEmbeddings):
    """norm(tokens[t] + segments[s] + position[p]): tables of 8 bits, their sum in 16."""

    def __init__(self, embeddings: Any, ranges: Ranges) -> None:
        nn.Module.__init__(self)  # no float of the parent's is kept
        self.first = embeddings.position.offset
        rows = (embeddings.tokens, embeddings.segments, embeddings.position.table)
        tables = [table.weight.detach().double() for table in rows]
        self.scales = nn.Buffer(torch.stack([scale_of(t.abs().max(), 8) for t in tables]))
        for name, table, scale in zip(TABLES, tables, self.scales, strict=True):
            self.register_buffer(name, quantised(table, scale, 8).q)
        self.whole_norm = IntegerNorm(embeddings.norm, ranges, "embeddings.norm", 16)

    def forward(  # type: ignore[override]
        self, tokens: Tensor, segments: Tensor | None, positions: Tensor
    ) -> QuantizedTensor:
        """Return whole numbers (B, T, d_model), arguments as for `BertEmbeddings`."""
        segments = torch.zeros_like(tokens) if segments is None else segments
        indices = (positions + self.first).expand_as(tokens)
        rows = [
            QuantizedTensor(look_up(self.get_buffer(name), ids, name), scale)
            for name, ids, scale in zip(
                TABLES, (tokens, segments, indices), self.scales, strict=True
            )
        ]
        return cast(QuantizedTensor, self.whole_norm(*rows))


class IntegerBert(Bert):
    """Tokens (B, T) -> states (B, T, d_model): whole numbers inside, times one scale at the end."""

    def states(self, *given: Any) -> Tensor:
        """Return the states, as `Bert.states` does."""
        return cast(QuantizedTensor, super().states(*given)).value


def integer(model: Bert, ranges: Ranges) -> IntegerBert:
    """Return the twin of whole numbers of a model of floats; `ranges` are those of `calibrated`."""
    stack = copy.deepcopy(model.stack).requires_grad_(False)
    for i, block in enumerate(cast(Iterable[Block], stack.blocks)):
        name = f"stack.blocks.{i}"
        for part in ("attn_residual", "ff_residual"):
            norm = cast(LayerNorm, cast(PostNorm, getattr(block, part)).norm)
            setattr(block, part, IntegerPostNorm(norm, ranges, f"{name}.{part}.norm", 22))
        block.attn = IntegerAttention(cast(Any, block.attn), ranges, f"{name}.attn")
        block.ff = IntegerFeedForward(block.ff, ranges, f"{name}.ff")
    embeddings = cast(Any, IntegerEmbeddings(model.embeddings, ranges))
    return IntegerBert(embeddings, stack, model.config).eval()

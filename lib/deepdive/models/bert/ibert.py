"""I-BERT: RoBERTa with integer-only arithmetic after the embedding lookup. Kim et al. 2021,
"I-BERT: Integer-only BERT Quantization".

    model = ibert()                                     # RoBERTa in floats: train it, or load it
    whole = integer(model, calibrated(model, texts))    # its integer-only counterpart

`texts` are batches of tokens like the model's later inputs: the range of their activations fixes
the scales (static quantization). `deepdive.models.bert.ibert_errors.errors` measures the error of
each operation.

Long because the integer version of the embeddings, which no other encoder has, is here.

System: ibert
Parent: roberta
What differs:
- weights and activations have 8 bits, accumulators 32 (`IntegerLinear`); the scales are fixed
  in advance (`calibrated`), so requantization is a multiplication and a shift
- GELU is a second-degree polynomial (`i_gelu`), and exp in softmax another (`i_exp`)
- the norm's square root is Newton's method on integers (`i_sqrt`); the norm's input has 22 bits
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
from deepdive.layers.integers import QuantizedTensor, quantized, scale_of
from deepdive.models.bert import roberta as parent
from deepdive.models.bert.bert import Bert, EncoderConfig, bert

BASE = parent.BASE.but(family="ibert")
LARGE = parent.LARGE.but(family="ibert")
TINY = parent.TINY.but(family="ibert")
TABLES = "token_rows", "segment_rows", "place_rows"


def ibert(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build the floating-point encoder that `integer` quantizes."""
    return bert(config, **changes)


class IntegerEmbeddings(parent.RobertaEmbeddings):
    """Integer embeddings: norm(tokens[t] + segments[s] + position[p]), 8-bit tables, 16-bit sum."""

    def __init__(self, embeddings: Any, ranges: Ranges) -> None:
        nn.Module.__init__(self)  # keep none of the parent's float tensors
        self.first = embeddings.position.offset
        rows = (embeddings.tokens, embeddings.segments, embeddings.position.table)
        tables = [table.weight.detach().double() for table in rows]
        self.scales = nn.Buffer(torch.stack([scale_of(t.abs().max(), 8) for t in tables]))
        for name, table, scale in zip(TABLES, tables, self.scales, strict=True):
            self.register_buffer(name, quantized(table, scale, 8).q)
        self.whole_norm = IntegerNorm(embeddings.norm, ranges, "embeddings.norm", 16)

    def forward(  # type: ignore[override]
        self, tokens: Tensor, segments: Tensor | None, positions: Tensor
    ) -> QuantizedTensor:
        """Return integers (B, T, d_model); the arguments are those of `BertEmbeddings`."""
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
    """Integer-only encoder: token ids (B, T) -> hidden states (B, T, d_model), scaled last."""

    def states(self, *given: Any) -> Tensor:
        """Return the hidden states, as `Bert.states` does."""
        return cast(QuantizedTensor, super().states(*given)).value


def integer(model: Bert, ranges: Ranges) -> IntegerBert:
    """Return the integer-only version of a float model; `ranges` are those of `calibrated`."""
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

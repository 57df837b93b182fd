"""ConvBERT: half of the heads give way to a convolution. Jiang et al. 2020, "ConvBERT: Improving
BERT with Span-based Dynamic Convolution".

Long because its layer mixes attention with a convolution in one module.

System: convbert
Parent: bert
What differs:
- of the heads a `ratio`-th is left, half as wide as the stream together; a convolution makes the
  other half, whose kernel the query and the tokens around it choose (`MixedAttention`, `kernel`)
- in the middle size the feed-forward layer maps parts of a row alone (`groups`)
- the rows of the embedding may be narrower than the stream (`d_embedding`), as in ALBERT; it is
  trained to find replaced tokens, as ELECTRA
Source: Jiang et al. 2020, sections 3 and 4, and their released code.
Book: 3.2
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from deepdive.attention import MultiHeadAttention, Slot
from deepdive.fast.linear import Linear
from deepdive.layers import Block
from deepdive.layers.grouped import GroupedFeedForward
from deepdive.layers.span_convolution import SpanConvolution
from deepdive.masks import Mask, Padding, as_mask
from deepdive.models.bert.albert import FactorisedEmbeddings
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert, block


class MixedAttention(MultiHeadAttention):
    """output = join(heads, convolved) @ W_out: softmax attention to all rows, and a convolution of
    those near, with the same queries; each d_model / 2 wide. Honours `Padding` alone.
    """

    def __init__(self, d_model: int, n_heads: int, kernel: int, dropout: float = 0.0) -> None:
        if n_heads < 1 or d_model % (2 * n_heads):
            raise ValueError(
                f"n_heads={n_heads} does not divide half of d_model={d_model}: choose a divisor"
            )
        super().__init__(d_model, n_heads, d_head=d_model // n_heads // 2, dropout=dropout)
        self.convolution = SpanConvolution(d_model, n_heads, self.d_head, kernel)
        self.out = Linear(d_model, d_model)

    def forward(
        self, x: Tensor, context: Tensor | None = None, mask: Mask | Tensor | None = None,
        bias: Tensor | None = None, positions: Tensor | None = None,
        context_positions: Tensor | None = None, cache: Slot | None = None,
    ) -> Tensor:  # fmt: skip
        """Return (B, T, d_model) for x (B, T, d_model); `positions` change nothing. Raises
        ValueError for a context, a cache, and any mask but `Padding`.
        """
        self.check_rows(x, context)
        parts = () if (mask := as_mask(mask)) is None else mask.parts
        if context is not None or cache is not None or any(type(p) is not Padding for p in parts):
            raise ValueError(
                "context, cache, mask: the convolution reads the rows on both sides of x, so it "
                "honours Padding alone; use MultiHeadAttention for what is foreign or unseen"
            )
        real = None if mask is None else mask.dense(1, x.shape[1], x.device)[:, 0, 0]
        q, (k, v) = self.queries(x), self.keys_and_values(x)
        heads = self.mechanism(q, k, self.values(v), mask, bias, self.scale)
        return self.output(torch.cat([heads, self.convolution(x, q, real)], dim=1))


@dataclass(frozen=True)
class ConvBertConfig(EncoderConfig):
    """`ratio`: the part of the heads that is left is one `ratio`-th, and one at least."""

    d_embedding: int = 768
    ratio: int = 2
    kernel: int = 9
    groups: int = 1


def mixed(config: ConvBertConfig, layer: int) -> MixedAttention:
    """Return the attention of a layer."""
    heads = max(config.n_heads // config.ratio, 1)
    return MixedAttention(config.d_model, heads, config.kernel, config.weights_dropout)


def in_groups(config: ConvBertConfig, layer: int) -> Block:
    """Return one layer; its feed-forward layer in groups, where there are several."""
    made = block(config, layer)
    if config.groups > 1:
        made.ff = GroupedFeedForward(config.d_model, config.d_ff, config.groups, config.activation)
    return made


BASE = ConvBertConfig(attention=mixed, block=in_groups, family="convbert")
SMALL = BASE.but(d_model=256, n_heads=4, d_ff=1024, d_embedding=128)
MEDIUM_SMALL = BASE.but(d_model=384, n_heads=8, d_ff=1536, d_embedding=128, groups=2)
TINY = BASE.but(**TOY | {"d_embedding": 8, "kernel": 3, "groups": 2})


def convbert(config: ConvBertConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the released base model."""
    config = config.but(**changes)
    if config.d_embedding != config.d_model:
        config = config.but(embeddings=FactorisedEmbeddings)
    return bert(config)

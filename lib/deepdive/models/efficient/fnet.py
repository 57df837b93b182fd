"""FNet: BERT whose attention is a Fourier transform. Lee-Thorp et al. 2022, "FNet: Mixing Tokens
with Fourier Transforms".

System: fnet
Parent: bert
What differs:
- the real part of a Fourier transform over positions and width stands for attention
  (`FourierMixing`): no weights, no heads, nothing to train
- a matrix follows the norm of the embeddings (`FNetEmbeddings`)
- nothing is dropped from what the mixing says; the activation is GELU's approximation by tanh
Source: Lee-Thorp et al. 2022, section 3, and their released code.
Book: blog
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

from torch import Tensor

from deepdive.fast.dropout import Dropout
from deepdive.fast.linear import Linear
from deepdive.layers import Block, FeedForward, FourierMixing, LayerNorm, PostNorm, gelu_tanh
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.embeddings import BertEmbeddings


class FNetEmbeddings(BertEmbeddings):
    """rows = dropout(project(norm(tokens[t] + segments[s] + position[p]))), (B, T, d_model)."""

    project: Linear
    after: Dropout

    @classmethod
    def of(cls, config: Any) -> Self:
        embeddings = super().of(config.but(dropout=0.0))
        embeddings.project = Linear(config.d_model, config.d_model)
        embeddings.after = Dropout(config.dropout)
        return embeddings

    def forward(self, tokens: Tensor, segments: Tensor | None, positions: Tensor) -> Tensor:
        return self.after(self.project(super().forward(tokens, segments, positions)))


def fourier_block(config: EncoderConfig, layer: int) -> Block:
    """Return one layer: a Fourier transform in the place of attention; nothing of it is dropped."""
    norm = partial(LayerNorm, eps=config.eps)
    block = Block(
        FourierMixing(config.d_model),
        FeedForward(config.d_model, config.d_ff, config.activation),
        residual=partial(PostNorm, norm=norm, dropout=config.dropout),
    )
    block.attn_residual = PostNorm(config.d_model, norm)
    return block


BASE = EncoderConfig(
    vocab_size=32_000, n_segments=4, activation=gelu_tanh, embeddings=FNetEmbeddings,
    block=fourier_block, family="fnet",
)  # fmt: skip
LARGE = BASE.but(d_model=1024, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY)


def fnet(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the paper's base model."""
    return bert(config, **changes)

"""FNet: BERT with a Fourier transform instead of attention. Lee-Thorp et al. 2022, "FNet: Mixing
Tokens with Fourier Transforms".

System: fnet
Parent: bert
What differs:
- the real part of a Fourier transform over positions and dimensions replaces attention
  (`FourierMixing`): no weights, no heads, no parameters
- a linear layer follows the norm of the embeddings (`FNetEmbeddings`)
- no dropout on the output of the mixing; the activation is GELU's approximation by tanh
Source: Lee-Thorp et al. 2022, section 3, and their released code.
Book: blog
"""

from typing import Any

from torch import Tensor, nn

from deepdive.core import Block, gelu_tanh
from deepdive.core.embeddings import TokenEmbedding
from deepdive.layers import FourierMixing
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert, block
from deepdive.models.bert.embeddings import BertEmbeddings


class FNetEmbeddings(BertEmbeddings):
    """x = dropout(project(norm(tokens[t] + segments[s] + position[p]))), (B, T, d_model)."""

    def __init__(self, tokens: TokenEmbedding, *others: Any) -> None:
        super().__init__(tokens, *others)
        self.project = nn.Linear(tokens.d_model, tokens.d_model)

    def finish(self, x: Tensor) -> Tensor:
        return super().finish(self.project(x))


def fourier_mixing(config: EncoderConfig, layer: int) -> FourierMixing:
    return FourierMixing(config.d_model)


def fourier_block(config: EncoderConfig, layer: int) -> Block:
    """Return one layer, without dropout on the mixing's output."""
    mixing_block = block(config, layer)
    mixing_block.attn_residual.dropout = nn.Dropout(0.0)
    return mixing_block


BASE = EncoderConfig(
    vocab_size=32_000, n_segments=4, activation=gelu_tanh, embeddings=FNetEmbeddings,
    attention=fourier_mixing, block=fourier_block, family="fnet",
)  # fmt: skip
LARGE = BASE.but(d_model=1024, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY)


def fnet(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the paper's base model."""
    return bert(config, **changes)

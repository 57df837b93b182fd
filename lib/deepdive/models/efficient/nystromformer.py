"""Nystromformer: BERT with Nystrom attention through landmarks. Xiong et al. 2021, "Nystromformer:
A Nystrom-Based Algorithm for Approximating Self-Attention".

System: nystromformer
Parent: bert
What differs:
- landmarks, the segment means of queries and keys, approximate attention (`NystromAttention`,
  `n_landmarks`): three small softmax matrices and a pseudoinverse replace the T x T one
- a depthwise convolution of the values is added in each head (`ValueConvolution`, `kernel`)
- positions are counted from 2 (`OFFSET`), the activation is GELU's approximation by tanh, `eps` of
  the norms 1e-5
Source: Xiong et al. 2021, section 3, and their released code.
Book: table 1.2
"""

from dataclasses import dataclass
from typing import Any

from torch import nn

from deepdive.attention import NystromAttention, ValueConvolution
from deepdive.attention.low_rank.nystrom import by_batch
from deepdive.core import MultiHeadAttention, gelu_tanh
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert


@dataclass(frozen=True)
class NystromformerConfig(EncoderConfig):
    """`n_landmarks`: segment means per head; `kernel` None: no convolution of the values.
    `segment_length`, to which transformers pads a text, is stored but not used here.
    """

    n_landmarks: int = 64
    kernel: int | None = 65
    segment_length: int | None = None


def landmark_attention(config: NystromformerConfig, layer: int) -> nn.Module:
    """Return one layer's attention. The pseudoinverse is initialized as in the published code
    (`by_batch`), with which its weights were trained.
    """
    convolution = None if config.kernel is None else ValueConvolution(config.n_heads, config.kernel)
    mechanism = NystromAttention(config.n_landmarks, start=by_batch, convolution=convolution)
    return MultiHeadAttention(config.d_model, config.n_heads, mechanism=mechanism)


BASE = NystromformerConfig(
    vocab_size=30_000, max_length=510, eps=1e-5, unused_positions=2, activation=gelu_tanh,
    attention=landmark_attention, family="nystromformer",
)  # fmt: skip
TINY = BASE.but(**TOY, n_landmarks=4, kernel=5)


def nystromformer(config: NystromformerConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the published base model."""
    return bert(config, **changes)

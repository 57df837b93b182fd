"""YOSO: BERT whose attention weights are hash collision probabilities. Zeng et al. 2021, "You Only
Sample (Almost) Once: Linear Cost Self-Attention Via Bernoulli Sampling".

`yoso` builds the expectation, at full cost; `sampled` estimates it by hashing, with the same
weights. The header is that of `deepdive.attention.by_content.yoso.YosoAttention`.
"""

from dataclasses import dataclass
from typing import Any

from torch import nn

from deepdive.attention import ValueConvolution
from deepdive.attention.by_content.yoso import ExpectedYosoAttention, YosoAttention
from deepdive.core import MultiHeadAttention
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert


@dataclass(frozen=True)
class YosoConfig(EncoderConfig):
    """`bits` of a hash; `kernel` None: no convolution of the values."""

    bits: int = 9
    kernel: int | None = None


def collision_attention(config: YosoConfig, layer: int) -> nn.Module:
    """Return one layer's attention, weighted by the probability that query and key collide."""
    convolution = None if config.kernel is None else ValueConvolution(config.n_heads, config.kernel)
    mechanism = ExpectedYosoAttention(config.bits, convolution=convolution)
    return MultiHeadAttention(config.d_model, config.n_heads, mechanism=mechanism)


BASE = YosoConfig(
    vocab_size=50_265, max_length=4096, n_segments=1, unused_positions=2,
    attention=collision_attention, family="yoso",
)  # fmt: skip
TINY = BASE.but(**TOY, bits=3)


def yoso(config: YosoConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder with expected attention; defaults are the published base model."""
    return bert(config, **changes)


def sampled(model: Bert, n_hashes: int = 64) -> Bert:
    """Replace each layer's expectation by hashing, in place, and return the model."""
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            old = part.mechanism
            if not isinstance(old, ExpectedYosoAttention):
                raise ValueError(
                    f"a layer has {type(old).__name__}: hashing estimates only YOSO attention"
                )
            new = YosoAttention(part.d_head, old.bits, n_hashes, convolution=old.convolution)
            part.mechanism = new.to(part.q.weight).train(part.training)
    return model

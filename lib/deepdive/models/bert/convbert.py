"""ConvBERT: half of the heads give way to a convolution. Jiang et al. 2020, "ConvBERT: Improving
BERT with Span-based Dynamic Convolution".

System: convbert
Parent: bert
What differs:
- some heads are left, together half as wide as the stream (`ratio`); a convolution makes the other
  half, whose kernel the query and the tokens around it choose (`MixedAttention`, `kernel`)
- in the middle size the feed-forward layer maps parts of a row alone (`groups`)
- rows of the embedding may be narrower than the stream (`d_embedding`); trained as ELECTRA is
Source: Jiang et al. 2020, sections 3 and 4, and their released code.
Book: 3.2
"""

from dataclasses import dataclass
from typing import Any

from deepdive.core import Block
from deepdive.layers.feed_forward import GroupedFeedForward
from deepdive.layers.mixed_attention import MixedAttention
from deepdive.models.bert.albert import FactorisedEmbeddings
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert, block


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

"""ConvBERT: BERT with half of its heads replaced by span-based dynamic convolution. Jiang et al.
2020, "ConvBERT: Improving BERT with Span-based Dynamic Convolution".

System: convbert
Parent: bert
What differs:
- the remaining heads have half of d_model (`ratio`); the other half is a convolution whose kernel
  is generated from the query and a span of tokens around it (`MixedAttention`, `kernel`)
- the medium-small size has a grouped feed-forward layer (`groups`)
- embeddings may be narrower than d_model (`d_embedding`); pretrained like ELECTRA
Source: Jiang et al. 2020, sections 3 and 4, and their released code.
Book: 3.2
"""

from dataclasses import dataclass
from typing import Any

from deepdive.core import Block
from deepdive.layers.feed_forward import GroupedFeedForward
from deepdive.layers.mixed_attention import MixedAttention
from deepdive.models.bert.albert import FactorizedEmbeddings
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert, block


@dataclass(frozen=True)
class ConvBertConfig(EncoderConfig):
    """BERT's config with `ratio`: one `ratio`-th of the heads remain, and at least one."""

    d_embedding: int = 768
    ratio: int = 2
    kernel: int = 9
    groups: int = 1


def mixed(config: ConvBertConfig, layer: int) -> MixedAttention:
    """Return a layer's mixed attention."""
    heads = max(config.n_heads // config.ratio, 1)
    return MixedAttention(config.d_model, heads, config.kernel, config.weights_dropout)


def in_groups(config: ConvBertConfig, layer: int) -> Block:
    """Return one layer, with a grouped feed-forward layer if `groups` > 1."""
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
        config = config.but(embeddings=FactorizedEmbeddings)
    return bert(config)

"""Start here: what the Transformer, BERT, and GPT are made of.

Read in this order: `masks` (which keys a query may attend to), `softmax` (scaled dot-product
attention), `context` (what else a layer receives), `multi_head`, `position`, `residual` and
`norms`, `feed_forward`, `block`, `stack`, `embeddings`; then `cache` (decoding), `hooks` (record
and replace activations), and `checks` (of arguments).
"""

from deepdive.core.block import Block
from deepdive.core.cache import DecodingState, KVCache, Slot
from deepdive.core.context import Context, Layer
from deepdive.core.feed_forward import (
    FeedForward,
    GatedFeedForward,
    gelu,
    gelu_sigmoid,
    gelu_tanh,
    relu,
)
from deepdive.core.hooks import HookPoint, record
from deepdive.core.mechanism import Mechanism
from deepdive.core.multi_head import MultiHeadAttention
from deepdive.core.norms import LayerNorm, OffsetRMSNorm, RMSNorm
from deepdive.core.packed_sequences import PackedSequences
from deepdive.core.position import Position
from deepdive.core.residual import (
    NoNorm,
    PostNorm,
    PreNorm,
    ReZero,
    SandwichNorm,
    ScaledPreNorm,
)
from deepdive.core.softmax import SoftmaxAttention
from deepdive.core.stack import Stack

__all__ = [
    "Block",
    "Context",
    "DecodingState",
    "FeedForward",
    "GatedFeedForward",
    "HookPoint",
    "KVCache",
    "Layer",
    "LayerNorm",
    "Mechanism",
    "MultiHeadAttention",
    "NoNorm",
    "OffsetRMSNorm",
    "PackedSequences",
    "Position",
    "PostNorm",
    "PreNorm",
    "RMSNorm",
    "ReZero",
    "SandwichNorm",
    "ScaledPreNorm",
    "Slot",
    "SoftmaxAttention",
    "Stack",
    "gelu",
    "gelu_sigmoid",
    "gelu_tanh",
    "record",
    "relu",
]

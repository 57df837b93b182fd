"""The parts of a layer: norms, residual schemes, feed-forward, and the block that joins them."""

from deepdive.fast.dropout import Dropout
from deepdive.layers.block import Block
from deepdive.layers.chunked import ChunkedFeedForward
from deepdive.layers.convolution import Convolution
from deepdive.layers.experts import NoisyTopKRouter, SparseExperts, SwitchRouter, TopKRouter
from deepdive.layers.feed_forward import (
    FeedForward,
    GatedFeedForward,
    gelu,
    gelu_sigmoid,
    gelu_tanh,
    relu,
)
from deepdive.layers.fourier import FourierMixing
from deepdive.layers.norms import LayerNorm, OffsetRMSNorm, RMSNorm
from deepdive.layers.residual import PostNorm, PreNorm, SandwichNorm, ScaledPreNorm

__all__ = [
    "Block",
    "ChunkedFeedForward",
    "Convolution",
    "Dropout",
    "FeedForward",
    "FourierMixing",
    "GatedFeedForward",
    "LayerNorm",
    "NoisyTopKRouter",
    "OffsetRMSNorm",
    "PostNorm",
    "PreNorm",
    "RMSNorm",
    "SandwichNorm",
    "ScaledPreNorm",
    "SparseExperts",
    "SwitchRouter",
    "TopKRouter",
    "gelu",
    "gelu_sigmoid",
    "gelu_tanh",
    "relu",
]

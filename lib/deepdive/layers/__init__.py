"""The parts of a layer: norms, residual schemes, feed-forward, and the block that joins them."""

from deepdive.layers.chunked import ChunkedFeedForward
from deepdive.layers.convolution import Convolution
from deepdive.layers.experts import NoisyTopKRouter, SparseExperts, SwitchRouter, TopKRouter
from deepdive.layers.fourier import FourierMixing

__all__ = [
    "ChunkedFeedForward", "Convolution", "FourierMixing", "NoisyTopKRouter", "SparseExperts",
    "SwitchRouter", "TopKRouter",
]  # fmt: skip

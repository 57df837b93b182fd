"""Config of `deepdive.models.generative.t5`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from deepdive.core import relu
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.feed_forward import Activation
from deepdive.models.config import Config


@dataclass(frozen=True)
class T5Config(Config):
    """Config of a T5: sizes, with separate depths of encoder and decoder, and modules that vary.

    feed_forward  (config, layer, whether it is the decoder's) -> the layer's feed-forward sublayer
    head          (config, embedding) -> the output layer
    family        name of its checkpoint format in `deepdive.published`
    d_head        the width of a head; n_heads * d_head need not be d_model
    n_buckets, max_distance    of the relative bias
    dropout       on embeddings, final states, attention weights, activations and sublayer outputs
    pad, end      token ids: padding, also the first decoder input, and end of sequence
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("n_layers", "n_decoder_layers", "pad", "end")

    feed_forward: Callable[[Any, int, bool], nn.Module]
    head: Callable[[Any, TokenEmbedding], nn.Module]
    family: str = "t5"
    vocab_size: int = 32_128
    d_model: int = 512
    n_heads: int = 8
    d_head: int = 64
    n_layers: int = 6
    n_decoder_layers: int = 6
    d_ff: int = 2048
    n_buckets: int = 32
    max_distance: int = 128
    activation: Activation = relu
    eps: float = 1e-6
    dropout: float = 0.1
    pad: int = 0
    end: int = 1

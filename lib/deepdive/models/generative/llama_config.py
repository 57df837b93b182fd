"""Config of `deepdive.models.generative.llama`."""

from collections.abc import Callable
from dataclasses import dataclass

import torch.nn.functional as F
from torch import nn

from deepdive.core import RMSNorm
from deepdive.core.checks import divides
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.feed_forward import Activation
from deepdive.models.config import Config
from deepdive.positions import RopeScaling


@dataclass(frozen=True)
class LlamaConfig(Config):
    """Config of a Llama-style decoder.

    n_kv_heads  key-value heads; None: as many as query heads
    d_head      None: d_model / n_heads
    max_length  context length in training; longer texts are accepted, but predicted less well
    base        of the rotary angles: position * base ** (-2i / d_head)
    scaling     of these angles for longer texts, as in Llama 3.1; None: no scaling
    dropout     on the attention weights
    tied        whether the output layer shares the embedding's matrix
    window      number of keys a query attends to, its own the last; None: all before it
    full_layers layers, counted from 0, whose queries attend to all keys although there is a window
    qkv_bias    whether queries, keys, and values have biases
    out_bias    whether the output projection of attention has a bias
    qk_norm     whether each head's queries and keys are normalized before they are rotated
    norm        builds each norm from its width and `eps`
    embedding   builds the token embedding from vocab_size and d_model
    family      name of its checkpoint format in `deepdive.published`

    Raises ValueError, naming the field, for sizes that do not fit.
    """

    vocab_size: int = 32_000
    d_model: int = 4096
    n_heads: int = 32
    n_kv_heads: int | None = None
    d_head: int | None = None
    n_layers: int = 32
    d_ff: int = 11_008
    max_length: int = 2048
    base: float = 10_000.0
    eps: float = 1e-6
    activation: Activation = F.silu
    dropout: float = 0.0
    tied: bool = False
    scaling: RopeScaling | None = None
    window: int | None = None
    full_layers: tuple[int, ...] = ()
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: bool = False
    norm: Callable[..., nn.Module] = RMSNorm
    embedding: Callable[[int, int], TokenEmbedding] = TokenEmbedding
    family: str = "llama"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.full_layers and self.window is None:
            raise ValueError(
                f"full_layers={self.full_layers} with window=None: every layer is full; omit "
                "full_layers, or set a window"
            )
        if wrong := [i for i in self.full_layers if not 0 <= i < self.n_layers]:
            raise ValueError(
                f"full_layers has {wrong[0]}; with n_layers={self.n_layers}, expected 0 to "
                f"{self.n_layers - 1}"
            )
        if self.d_head is None:
            divides(n_heads=self.n_heads, d_model=self.d_model)

    @property
    def kv_heads(self) -> int:
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    def window_of(self, layer: int) -> int | None:
        """Return the window of a layer, counted from 0; None where it attends to all keys."""
        return None if layer in self.full_layers else self.window

    @property
    def width(self) -> int:
        """Return the width of a head."""
        return self.d_model // self.n_heads if self.d_head is None else self.d_head

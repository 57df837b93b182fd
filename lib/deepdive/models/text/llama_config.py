"""The record of `deepdive.models.text.llama`."""

from dataclasses import dataclass

import torch.nn.functional as F

from deepdive.checks import divides
from deepdive.layers.feed_forward import Activation
from deepdive.models.config import Config
from deepdive.positions import RopeScaling


@dataclass(frozen=True)
class LlamaConfig(Config):
    """The numbers of a decoder.

    n_kv_heads  heads of keys and values; None: as many as of queries
    d_head      None: d_model / n_heads
    max_length  of the texts that it was trained on; it reads longer ones, if less well
    base        of the rotary angles: position * base ** (-2i / d_head)
    scaling     of these angles for longer texts, as in Llama 3.1; None: as they are
    dropout     on the weights of attention
    tied        whether the output layer is the embedding's matrix
    family      how its published form is called (`deepdive.published`)
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
    family: str = "llama"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_head is None:
            divides(n_heads=self.n_heads, d_model=self.d_model)

    @property
    def kv_heads(self) -> int:
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    @property
    def width(self) -> int:
        """How wide a head is."""
        return self.d_model // self.n_heads if self.d_head is None else self.d_head

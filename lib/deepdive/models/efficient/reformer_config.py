"""Hyperparameters of `deepdive.models.efficient.reformer`."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import ClassVar

from deepdive.attention import LSHAttention
from deepdive.core import Position, relu
from deepdive.core.feed_forward import Activation
from deepdive.models.config import Config
from deepdive.positions import AxialPosition, LearnedPosition


@dataclass(frozen=True)
class ReformerConfig(Config):
    """Hyperparameters of a Reformer, and its exchangeable components.

    layers   each layer's attention: "lsh", by hashing, or "local", in neighboring chunks
    axial    shape and widths of the axial position embeddings; None: plain learned ones
    ff_rows  how many tokens the feed-forward layer processes at a time; None: all
    lsh      the class of the mechanism of LSH layers
    causal   whether attention is causal: a language model without its head
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("local_before", "local_after")
    vocab_size: int = 320
    d_model: int = 256
    n_heads: int = 4
    d_head: int = 64
    d_ff: int = 512
    layers: tuple[str, ...] = ("lsh", "lsh")
    max_length: int = 4096
    axial: tuple[tuple[int, int], tuple[int, int]] | None = None
    chunk: int = 64
    rounds: int = 4
    buckets: int | tuple[int, ...] | None = None
    local_chunk: int = 64
    local_before: int = 1
    local_after: int = 0
    ff_rows: int | None = None
    dropout: float = 0.0
    lsh_dropout: float = 0.0
    local_dropout: float = 0.0
    eps: float = 1e-12
    activation: Activation = relu
    lsh: type[LSHAttention] = LSHAttention
    causal: bool = False
    family: str = "reformer"

    def __post_init__(self) -> None:
        super().__post_init__()
        if unknown := sorted(set(self.layers) - {"lsh", "local"}):
            raise ValueError(f"layers holds {unknown}: a layer is 'lsh' or 'local'")

    def position(self) -> Position:
        """Return the position embeddings, axial or plain."""
        if self.axial is None:
            return LearnedPosition(self.max_length, self.d_model)
        return AxialPosition(*self.axial)

    @property
    def whole(self) -> int:
        """Return the smallest length that is a whole number of chunks in every layer."""
        lengths = {"lsh": self.chunk, "local": self.local_chunk}
        return lcm(*(lengths[layer] for layer in self.layers))

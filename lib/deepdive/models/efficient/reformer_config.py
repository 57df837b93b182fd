"""The record of `deepdive.models.efficient.reformer`."""

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
    """The numbers of a Reformer, and the parts that are exchanged.

    layers   each layer's attention: "lsh", by hashing, or "local", in neighbouring chunks
    axial    shape and widths of the folded table of positions; None: a plain one
    ff_rows  how many rows the feed-forward layer works on at a time; None: all
    lsh      the class of the mechanism of hashed layers
    causal   whether a token meets only those before it: a language model without its head
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
        """Return the table of positions, folded or plain."""
        if self.axial is None:
            return LearnedPosition(self.max_length, self.d_model)
        return AxialPosition(*self.axial)

    @property
    def whole(self) -> int:
        """How many tokens are a whole number of chunks in every layer."""
        lengths = {"lsh": self.chunk, "local": self.local_chunk}
        return lcm(*(lengths[layer] for layer in self.layers))

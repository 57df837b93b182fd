"""The Compressive Transformer's memory: recent states, and compressed older ones."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.layers.segment_memory import Memory

Kind = Literal["convolution", "mean", "maximum"]


class Compression(nn.Module):
    """Every `ratio` states become one: (B, n * ratio, d_model) -> (B, n, d_model).

    The convolution has kernel and stride `ratio`. Raises ValueError for another number of states.
    Source: Rae et al. 2020, section 3.1.
    """

    def __init__(self, d_model: int, ratio: int, kind: Kind = "convolution") -> None:
        super().__init__()
        positive(d_model=d_model, ratio=ratio)
        if kind not in get_args(Kind):
            raise ValueError(f"kind={kind!r}: expected one of {', '.join(get_args(Kind))}")
        self.ratio, self.kind = ratio, kind
        self.convolution = (
            nn.Conv1d(d_model, d_model, ratio, ratio) if kind == "convolution" else None
        )

    def forward(self, states: Tensor) -> Tensor:
        """Return the compressed states."""
        if states.shape[1] % self.ratio:
            raise ValueError(
                f"{states.shape[1]} states aren't groups of ratio={self.ratio}: pass a multiple"
            )
        if self.convolution is not None:
            return self.convolution(states.transpose(1, 2)).transpose(1, 2)
        groups = states.unflatten(1, (-1, self.ratio))  # (B, n, ratio, d_model)
        return groups.mean(2) if self.kind == "mean" else groups.amax(2)


class CompressiveMemory(Memory):
    """`length` recent states of each layer, and `n_compressed` compressed older ones before them.

    States leave in groups of `ratio`, so up to ratio - 1 more stay than `length`.
    """

    def __init__(self, length: int, n_compressed: int, ratio: int) -> None:
        super().__init__(None)
        positive(ratio=ratio)
        self.recent, self.n_compressed, self.ratio = length, n_compressed, ratio
        self.compressed = list[Tensor]()

    def before(self, layer: int, x: Tensor) -> Tensor:
        """Return this layer's compressed states, its recent ones, then x; add x to the latter."""
        return torch.cat((*self.compressed[layer : layer + 1], super().before(layer, x)), 1)

    def leave(self, layer: int) -> Tensor | None:
        """Remove and return the oldest states (B, n * ratio, d_model) above `length`, if any."""
        states = self.rows[layer]
        surplus = max(0, states.shape[1] - self.recent) // self.ratio * self.ratio
        self.rows[layer] = states[:, surplus:]
        return states[:, :surplus] if surplus else None

    def store(self, layer: int, states: Tensor) -> None:
        """Append compressed states (B, n, d_model), without gradients, and drop the oldest."""
        states = torch.cat((*self.compressed[layer : layer + 1], states.detach()), 1)
        self.compressed[layer : layer + 1] = [
            states[:, max(0, states.shape[1] - self.n_compressed) :]
        ]

    def reorder(self, index: Tensor) -> None:
        """Let sequence b of the batch continue from sequence index[b]."""
        super().reorder(index)
        self.compressed = [states.index_select(0, index) for states in self.compressed]

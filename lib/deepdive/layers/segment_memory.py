"""The hidden states of earlier segments of a text, cached without gradients."""

import torch
from torch import Tensor

from deepdive.core.checks import not_negative


class Memory:
    """Cached inputs of each layer from earlier segments, without gradients.

    `length`: how many of the last positions are cached; None: all. Each forward pass updates it.
    Raises ValueError for a negative length. Source: Dai et al. 2019, section 3.2.
    """

    def __init__(self, length: int | None = None) -> None:
        not_negative(length=0 if length is None else length)
        self.length, self.rows = length, list[Tensor]()

    def __len__(self) -> int:
        return self.rows[0].shape[1] if self.rows else 0

    def before(self, layer: int, x: Tensor) -> Tensor:
        """Return this layer's cached inputs, then x: (B, S, d_model); update the cache."""
        x = torch.cat((*self.rows[layer : layer + 1], x), 1)
        memory = x if self.length is None else x[:, max(0, x.shape[1] - self.length) :]
        self.rows[layer : layer + 1] = [memory.detach()]
        return x

    def reorder(self, index: Tensor) -> None:
        """Let sequence b of the batch continue from sequence index[b]."""
        self.rows = [states.index_select(0, index) for states in self.rows]

"""The encoded sentences of a batch of documents, and their vectors: what HIBERT's sentence encoder
passes to its document encoder. Zhang et al. 2019, section 3.1.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Sentences(NamedTuple):
    """The sentences of a batch that have a real token, N of them.

    states   (N, T, d_model), of their tokens
    mask     bool (N, T), True = real token
    end      int (N,), the position of the last real token
    real     bool (B, S), which sentences of which documents they are
    """

    states: Tensor
    mask: Tensor
    end: Tensor
    real: Tensor

    def vectors(self) -> Tensor:
        """Return the sentence vectors (B, S, d_model), the states at the last real tokens; zeros
        for padding.
        """
        ends = self.states[torch.arange(len(self.end), device=self.end.device), self.end]
        empty = ends.new_zeros(*self.real.shape, ends.shape[-1])
        return empty.index_put((self.real,), ends)

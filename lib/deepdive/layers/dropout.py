"""Dropout that costs nothing in evaluation."""

from __future__ import annotations

from torch import Tensor, nn


class Dropout(nn.Dropout):
    """Zero each element with probability p in training, and scale the others by 1 / (1 - p).

    In evaluation x is passed without a module's call: a block has three dropouts, and decoding
    meets them all at every token.
    Source: Srivastava et al. 2014, section 4.
    """

    def __call__(self, x: Tensor) -> Tensor:
        return super().__call__(x) if self.training else x

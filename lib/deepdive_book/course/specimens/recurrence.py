"""Streams of chapter 5's clinic: most digits repeat the digit six positions back."""

from __future__ import annotations

import torch
from torch import Tensor

DIGITS, SEGMENT, LAG, REPEATED = 10, 8, 6, 0.8


def streams(count: int, segments: int = 4, seed: int = 99) -> Tensor:
    """Return digits (count, 8 * segments + 1), the last of which is only predicted.

    From position 6 on, a digit repeats the digit six positions back with probability 0.8, and is
    random otherwise.
    """
    draw = torch.Generator().manual_seed(seed)
    n = SEGMENT * segments + 1
    digits = torch.randint(DIGITS, (count, n), generator=draw)
    copied = torch.rand(count, n, generator=draw) < REPEATED
    for t in range(LAG, n):
        digits[:, t] = torch.where(copied[:, t], digits[:, t - LAG], digits[:, t])
    return digits

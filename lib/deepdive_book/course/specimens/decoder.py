"""Texts of chapter 2's clinic: five letters, a bar, and the letters reversed."""

import torch
from torch import Tensor

LETTERS, LENGTH = 8, 5
NAMES = [*"abcdefgh", "|"]


def texts(count: int, seed: int = 99) -> Tensor:
    """Return `count` texts (count, 11): five letters, the bar, the letters reversed."""
    draw = torch.Generator().manual_seed(seed)
    words = torch.randint(0, LETTERS, (count, LENGTH), generator=draw)
    return torch.cat([words, torch.full((count, 1), LETTERS), words.flip(1)], 1)


WORD = torch.tensor([[1, 3, 0, 2, 4, LETTERS, 4, 2, 0, 3, 1]])  # bdace|ecadb

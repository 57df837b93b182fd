"""Texts of chapter 3's clinic: two letters that alternate, between [CLS] and [SEP]."""

import torch
from torch import Tensor

NAMES = [*"abcdefgh", "[CLS]", "[SEP]", "[MASK]", "[PAD]"]
CLS, SEP, MASK, PAD = range(8, 12)
LENGTH = 10


def texts(count: int, seed: int = 99, width: int = LENGTH) -> Tensor:
    """Return `count` texts (count, width): `[CLS]`, 4 to 8 letters, `[SEP]`, and padding."""
    draw = torch.Generator().manual_seed(seed)
    two = torch.rand(count, 8, generator=draw).argsort(1)[:, :2]
    many = torch.randint(4, 9, (count, 1), generator=draw)
    place = torch.arange(width)
    tokens = two[:, place % 2].masked_fill(place > many, PAD)
    tokens[:, 0] = CLS
    return tokens.scatter(1, many + 1, SEP)


def gaps(tokens: Tensor, seed: int = 0, rate: float = 0.25) -> Tensor:
    """Return bool (B, T): the letters that are hidden, each with probability `rate`."""
    draw = torch.Generator().manual_seed(seed)
    return (torch.rand(tokens.shape, generator=draw) < rate) & (tokens < CLS)

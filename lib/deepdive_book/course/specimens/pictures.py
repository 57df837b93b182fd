"""Pictures of chapter 6b's clinic: skies that grow lighter in one direction, and hidden patches."""

import torch
from torch import Tensor

from deepdive.training.objectives import hidden_patches

PIXELS, SIDE, GAPS = 16, 4, 6


def pictures(count: int, seed: int = 99) -> Tensor:
    """Return skies (count, 1, 16, 16) from 0, black, to 1, white."""
    draw = torch.Generator().manual_seed(seed)
    whole, down, across = (2 * torch.rand(3, count, 1, 1, generator=draw) - 1).unbind(0)
    place = torch.linspace(-1, 1, PIXELS)
    sky = 0.5 + 0.2 * whole + 0.12 * (down * place[:, None] + across * place)
    noise = 0.01 * torch.randn(count, PIXELS, PIXELS, generator=draw)
    return (sky + noise)[:, None]


def gaps(count: int, seed: int = 0) -> Tensor:
    """Return bool (count, 16): six hidden patches of each picture, drawn by lot."""
    noise = torch.rand(count, SIDE**2, generator=torch.Generator().manual_seed(seed))
    return hidden_patches(noise, GAPS / SIDE**2)

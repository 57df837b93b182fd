"""What enters MAE's stacks: patches at fixed places."""

from typing import Any

import torch
from torch import Tensor

from deepdive.models.vision.embeddings import ImageEmbeddings
from deepdive.positions.sinusoidal import plane


def sincos_table(special: int, grid: tuple[int, int], d_model: int) -> Tensor:
    """Return zeros for the special rows, then `plane`: (special + N, d_model)."""
    return torch.cat([torch.zeros(special, d_model), plane(*grid, d_model)])


class SinCosImageEmbeddings(ImageEmbeddings):
    """ViT's rows, with fixed sines for positions; the special rows have none."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        del self.positions
        self.register_buffer("positions", sincos_table(config.n_special, self.grid, config.d_model))

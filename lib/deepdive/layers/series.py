"""Layers of Informer for time series: an embedding of time steps, distilling, and the encoder."""

from itertools import zip_longest

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block
from deepdive.core.checks import positive
from deepdive.core.norms import LayerNorm
from deepdive.positions import BlockedSinusoidalPosition


class RowEmbedding(nn.Module):
    """norm(values(x) + position), (B, T, d_model) for features x (B, T, n_features)."""

    def __init__(self, n_features: int, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        positive(n_features=n_features, d_model=d_model)
        self.n_features = n_features
        self.values = nn.Linear(n_features, d_model, bias=False)
        self.position = BlockedSinusoidalPosition(d_model)
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Return the embeddings of steps start, start + 1, ..."""
        if x.ndim != 3 or x.shape[-1] != self.n_features or 0 in x.shape:
            raise ValueError(
                f"x must be (B, T, {self.n_features}) features, not empty; got {tuple(x.shape)}"
            )
        steps = torch.arange(start, start + x.shape[1], device=x.device)
        return self.dropout(self.norm(self.position.embed(self.values(x), steps)))


class Distil(nn.Module):
    """Half the length: max_pool(elu(batch_norm(convolution(x)))), (B, ceil(T / 2), d_model).

    The convolution has kernel 3 and circular padding; pooling takes the maximum of three at every
    second position.
    Source: Zhou et al. 2021, self-attention distilling; batch norm as in the released code.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.convolution = nn.Conv1d(d_model, d_model, 3, padding=1, padding_mode="circular")
        self.norm = nn.BatchNorm1d(d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return the shorter sequence."""
        mixed = F.elu(self.norm(self.convolution(x.transpose(1, 2))))
        return F.max_pool1d(mixed, 3, stride=2, padding=1).transpose(1, 2)


class InformerEncoder(nn.Module):
    """Features (B, T, n_features) -> states (B, about T / 2^len(distils), d_model): blocks, and
    one of the `distils` after each of the first ones.
    """

    def __init__(
        self, embedding: RowEmbedding, blocks: list[Block], distils: list[nn.Module]
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.blocks, self.distils = nn.ModuleList(blocks), nn.ModuleList(distils)

    def forward(self, x: Tensor) -> Tensor:
        """Return the states of the last block."""
        x = self.embedding(x)
        for block, distil in zip_longest(self.blocks, self.distils):
            x = block(x)
            x = x if distil is None else distil(x)
        return x

"""Perceiver: a latent array cross-attends to inputs of any length, then self-attends.
Jaegle et al. 2021, "Perceiver: General Perception with Iterative Attention"; the layers as in
Perceiver IO (Jaegle et al. 2022), whose weights are published. As there, one cross-attention reads
the input; the model of 2021 repeats the cross-attention, with shared weights.

Long because its parent has other layers: model, config, and builder are all its own.

System: perceiver
Parent: set_transformer
What differs:
- the inducing points are the model: latents with their own width (`latents`, `d_latents`) that
  cross-attend to the input once (`cross`), and whose stack costs the same for every length
- nothing is written back to the inputs: later layers process only the latents
- pre-norm layers, with a separate norm for the input; a block of layers may be applied repeatedly
  (`n_blocks`)
- keys and values may have widths of their own (`d_scores`, `d_values`)
Source: Jaegle et al. 2021, section 3; Jaegle et al. 2022 for the layers.
Book: table 1.2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention import ChannelAttention
from deepdive.core.checks import divides
from deepdive.core.masks import padding
from deepdive.layers.latent import LatentLayer
from deepdive.models.config import Config


class Perceiver(nn.Module):
    """Inputs (B, S, d_input) -> latents (B, n_latents, d_latents).

        z = latents; z = cross(z, x); n_blocks times: for each layer: z = layer(z)

    The output is invariant to permutations of the inputs: for ordered data, add position encodings
    to the inputs first. `mask` bool (B, S), True = a real input.
    """

    def __init__(
        self, latents: Tensor, cross: LatentLayer, layers: list[LatentLayer],
        config: PerceiverConfig,
    ) -> None:  # fmt: skip
        super().__init__()
        self.latents, self.config = nn.Parameter(latents), config
        self.cross, self.layers = cross, nn.ModuleList(layers)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the latents."""
        real = padding(mask, x[..., 0], "mask")
        latents = self.cross(self.latents.expand(x.shape[0], -1, -1), x, real)
        for _ in range(self.config.n_blocks):
            for layer in self.layers:
                latents = layer(latents)
        return latents


@dataclass(frozen=True)
class PerceiverConfig(Config):
    """Hyperparameters of a Perceiver; `widening` is d_ff / d_latents."""

    d_input: int = 768
    n_latents: int = 256
    d_latents: int = 1280
    n_layers: int = 26
    n_blocks: int = 1
    n_heads: int = 8
    n_cross_heads: int = 8
    d_scores: int | None = None
    d_values: int | None = None
    widening: int = 1
    cross_widening: int = 1
    dropout: float = 0.1
    family: str = "perceiver"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_scores is None:
            divides(n_heads=self.n_heads, d_latents=self.d_latents)
            divides(n_cross_heads=self.n_cross_heads, d_input=self.d_input)


BASE = PerceiverConfig()
TINY = BASE.but(
    d_input=16, n_latents=3, d_latents=16, n_layers=2, n_blocks=2, n_heads=4, n_cross_heads=4,
    dropout=0.0,
)  # fmt: skip


def perceiver(config: PerceiverConfig = BASE, **changes: Any) -> Perceiver:
    """Build a model; defaults are the published size for texts."""
    config = config.but(**changes)
    attention = partial(
        ChannelAttention, config.d_latents, d_scores=config.d_scores, d_values=config.d_values,
        dropout=config.dropout,
    )  # fmt: skip
    cross = attention(config.n_cross_heads, d_context=config.d_input)
    latents = 0.02 * torch.randn(config.n_latents, config.d_latents)
    reader = LatentLayer(cross, config.cross_widening * config.d_latents, config.d_input)
    d_ff = config.widening * config.d_latents
    layers = [LatentLayer(attention(config.n_heads), d_ff) for _ in range(config.n_layers)]
    return Perceiver(latents, reader, layers, config)

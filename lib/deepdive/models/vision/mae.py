"""MAE: a ViT pretrained to reconstruct masked patches. He et al. 2022, "Masked Autoencoders Are
Scalable Vision Learners".

Long because it holds an encoder and a decoder, and puts states back at their patches' positions.

System: mae
Parent: vit
What differs:
- most patches are masked at random, and the encoder sees only the others (`Mae.seen`)
- a narrower stack, the decoder, receives their states and one learned mask token for each masked
  patch, and predicts the pixels of all (`Mae.forward`); it is discarded after pretraining
- both use fixed 2-D sinusoidal position embeddings (`plane`)
- the targets are the pixels of masked patches, each patch normalized
  (`deepdive.training.objectives.pixel_loss`)
Source: He et al. 2022, section 3 and appendix A.1, and their released code.
Book: straka
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm
from deepdive.core.checks import flags
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.layers.patches import resized
from deepdive.models.vision.embeddings import sincos_table
from deepdive.models.vision.mae_config import MaeConfig
from deepdive.models.vision.vit import Vit, vit


class Mae(nn.Module):
    """pixels = out(decoder([x_0; W x_seen + b, or the mask token, by position] + positions)).

    images (B, C, H, W) -> (B, N, C * patch_size^2), the pixels of all patches, ordered as in `cut`.
    """

    decoder_positions: Tensor

    def __init__(self, encoder: Vit, stack: Stack, config: MaeConfig) -> None:
        super().__init__()
        width = config.decoder_d_model
        self.encoder, self.decoder, self.config = encoder, stack, config
        self.project = nn.Linear(config.d_model, width)
        self.mask = nn.Parameter(torch.zeros(width))
        self.grid = (config.image_size // config.patch_size,) * 2
        self.register_buffer("decoder_positions", sincos_table(config.n_special, self.grid, width))
        self.out = nn.Linear(width, config.channels * config.patch_size**2)
        nn.init.normal_(self.mask, std=0.02)

    def seen(self, images: Tensor, hidden: Tensor) -> Tensor:
        """Return the encoder's states of the special tokens and of the visible patches,
        (B, 1 + seen, d_model); `hidden` is bool (B, N), with the same count in each image.
        """
        x, special = self.encoder.embeddings(images), self.config.n_special
        shape = len(x), x.shape[1] - special
        flags("hidden", hidden, shape, "(B, N), True = hidden")
        if len(set(hidden.sum(1).tolist())) > 1:
            raise ValueError("hidden: the number of masked patches must be equal in all images")
        patches = x[:, special:][~hidden].reshape(len(x), -1, x.shape[2])
        return self.encoder.stack(torch.cat([x[:, :special], patches], 1))

    def forward(self, images: Tensor, hidden: Tensor | None = None) -> Tensor:
        """Return the predicted pixels of every patch; with `hidden` None, no patch is masked."""
        if images.ndim != 4:
            raise ValueError(f"images: got {tuple(images.shape)}, expected (B, C, H, W)")
        sides = [side // self.config.patch_size for side in images.shape[2:]]
        if hidden is None:
            shape = len(images), sides[0] * sides[1]
            hidden = torch.zeros(shape, dtype=torch.bool, device=images.device)
        states, special = self.project(self.seen(images, hidden)), self.config.n_special
        x = self.mask.expand(*hidden.shape, -1).clone()
        x[~hidden] = states[:, special:].flatten(0, 1)
        first, table = self.decoder_positions[:special], self.decoder_positions[special:]
        positions = torch.cat([first, resized(table, self.grid, (sides[0], sides[1]))])
        x = torch.cat([states[:, :special], x], 1) + positions
        return self.out(self.decoder(x)[:, special:])


BASE = MaeConfig()
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
HUGE = BASE.but(d_model=1280, n_heads=16, n_layers=32, d_ff=5120, patch_size=14)
TINY = BASE.but(
    image_size=8, patch_size=2, channels=1, d_model=32, n_heads=4, n_layers=2,
    d_ff=64, decoder_d_model=16, decoder_n_heads=2, decoder_n_layers=1, decoder_d_ff=32,
)  # fmt: skip


def mae(config: MaeConfig = BASE, **changes: Any) -> Mae:
    """Build the encoder and decoder; defaults are the paper's base model."""
    config = MaeConfig.given(config, changes)
    small = config.decoder()
    norm = LayerNorm(small.d_model, small.eps)
    stack = Stack(lambda layer: small.block(small, layer), small.n_layers, norm)
    model = Mae(vit(config), stack, config)
    initialize(model)
    return model

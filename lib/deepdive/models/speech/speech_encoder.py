"""What listens: frames of sound become fewer rows, and a stack reads them."""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.checks import positive
from deepdive.layers import Dropout
from deepdive.layers.stacks import Stack
from deepdive.masks import Padding
from deepdive.positions import Position


class SpeechEncoder(nn.Module):
    """Frames (B, T, n_features) -> states (B, T', d_model), and which of them are real.

    `front` (frames, mask) -> (rows, which are real) makes the frames fewer; another one reads
    other frames, such as 13 cepstra a moment.
    """

    def __init__(
        self,
        front: nn.Module,
        position: Position,
        stack: Stack,
        scale: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.front, self.position, self.stack, self.scale = front, position, stack, scale
        self.dropout = Dropout(dropout)

    def forward(self, frames: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the states of frames; `mask` bool (B, T), True = real frame."""
        rows, real = self.front(frames, mask)
        at = torch.arange(rows.shape[1], device=rows.device)
        rows = self.dropout(self.position.embed(self.scale * rows, at))
        return self.stack(rows, mask=None if real is None else Padding(real)), real


class Narrowed(nn.Module):
    """narrow(states), of an `encoder` such as `Wav2Vec2`, which gives states (B, T', d_encoder) and
    says by `real(mask)` which they are.
    """

    def __init__(self, encoder: nn.Module, d_encoder: int, d_model: int) -> None:
        super().__init__()
        positive(d_encoder=d_encoder, d_model=d_model)
        self.encoder: Any = encoder
        same = d_encoder == d_model
        self.narrow = nn.Identity() if same else nn.Linear(d_encoder, d_model)

    def forward(self, heard: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return states (B, T', d_model), and which of them are real."""
        return self.narrow(self.encoder(heard, mask)), self.encoder.real(mask)

"""Speech encoders: a front end downsamples frames, and a Transformer stack encodes them."""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import Position
from deepdive.core.checks import positive
from deepdive.core.masks import Padding
from deepdive.core.stack import Stack


class SpeechEncoder(nn.Module):
    """Frames (B, T, n_features) -> states (B, T', d_model), and which of them are real.

    `front` (frames, mask) -> (features, which are real) downsamples; another takes cepstra.
    """

    def __init__(
        self, front: nn.Module, position: Position, stack: Stack, scale: float = 1.0,
        dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.front, self.position, self.stack, self.scale = front, position, stack, scale
        self.dropout = nn.Dropout(dropout)

    def forward(self, frames: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the states of frames; `mask` bool (B, T), True = real frame."""
        x, real = self.front(frames, mask)
        at = torch.arange(x.shape[1], device=x.device)
        x = self.dropout(self.position.embed(self.scale * x, at))
        return self.stack(x, mask=None if real is None else Padding(real)), real


class SpeechFrontend(nn.Module):
    """Wrap a speech encoder, such as `Wav2Vec2`, to also return which of its states are real."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder: Any = encoder

    def forward(self, features: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return states (B, T', d_encoder), and `encoder.real(mask)`, which of them are real."""
        return self.encoder(features, mask), self.encoder.real(mask)


class Projection(SpeechFrontend):
    """narrow(states): project an encoder's states (B, T', d_encoder) to another width."""

    def __init__(self, encoder: nn.Module, d_encoder: int, d_model: int) -> None:
        super().__init__(encoder)
        positive(d_encoder=d_encoder, d_model=d_model)
        self.narrow = nn.Identity() if d_encoder == d_model else nn.Linear(d_encoder, d_model)

    def forward(self, features: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return states (B, T', d_model), and which of them are real."""
        states, real = super().forward(features, mask)
        return self.narrow(states), real

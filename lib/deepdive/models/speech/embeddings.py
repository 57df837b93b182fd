"""Input embeddings of speech encoders: CNN features, a mask embedding, convolutional positions."""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm
from deepdive.core.checks import flags
from deepdive.core.hooks import HookPoint


class SoundEmbeddings(nn.Module):
    """x = project(norm(features(sound))), the mask embedding where hidden, 0 where not real;
    dropout(norm_placed(x + places(x))), shape (B, T, d_model). Where the blocks are pre-norm
    there is no `norm_placed`.

    Hook point: `embedded` (B, T, d_model).
    Source: Baevski et al. 2020, section 2, and their released code.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        d_features, d_model = config.widths[-1], config.d_model
        self.features = config.features(config)
        self.norm = LayerNorm(d_features, config.eps)
        self.project = nn.Linear(d_features, d_model)
        self.mask = nn.Parameter(torch.rand(d_model)) if config.masked else None
        self.places = config.places(config)
        first = not config.residual.final_norm
        self.norm_placed = LayerNorm(d_model, config.eps) if first else None
        self.dropout, self.embedded = nn.Dropout(config.dropout), HookPoint()
        self.project_dropout = nn.Dropout(config.project_dropout)

    def heard(self, sound: Tensor) -> Tensor:
        """Return the normalized features (B, T, d_features), which are the quantizer's input."""
        return self.norm(self.features(sound))

    def forward(
        self, features: Tensor, real: Tensor | None = None, hidden: Tensor | None = None
    ) -> Tensor:
        """Return embeddings of the features from `heard`; real, hidden: bool (B, T) or None."""
        x = self.project_dropout(self.project(features))
        if hidden is not None:
            if self.mask is None:
                raise ValueError("hidden: this encoder has no mask embedding; use masked=True")
            flags("hidden", hidden, x.shape[:2], "(B, T), True = replaced by the mask embedding")
            x = torch.where(hidden[..., None], self.mask, x)
        if real is not None:
            x = x * real[..., None]
        x = x + self.places(x)
        x = x if self.norm_placed is None else self.norm_placed(x)
        return self.embedded(self.dropout(x))

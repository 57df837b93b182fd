"""data2vec (audio): a speech encoder pretrained to predict the contextualized states of a teacher
(`deepdive.training.objectives.data2vec`). Baevski et al. 2022, "data2vec: A General Framework
for Self-supervised Learning in Speech, Vision and Language".

System: data2vec_audio
Parent: wav2vec2
What differs:
- the target of a masked frame is neither a code nor a unit, but the mean of a teacher's last layers
  there (`deepdive.training.objectives.averaged_states`); the teacher is an EMA of the student
- all convolutions have a layer norm (`layer_norms`)
- position embeddings from five narrow convolutions instead of one wide one, each with a norm that
  has no gain and no bias (`StackedPositionalConv`)
Source: Baevski et al. 2022, sections 3 and 4.2, and their released code.
Book: blog
"""

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.layers.speech_frontend import layer_norms
from deepdive.models.speech import wav2vec2 as parent
from deepdive.models.speech.wav2vec2_config import SoundConfig


class StackedPositionalConv(nn.Module):
    """x = activation(norm(W_l * x)), `place_layers` times; the result is added to the features."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width, groups, d_model = config.place_width, config.place_groups, config.d_model
        if d_model % groups:
            raise ValueError(f"place_groups={groups} does not divide d_model={d_model}")
        self.activation, self.pads = config.convolution_activation, (width // 2, (width - 1) // 2)
        self.convolutions = nn.ModuleList()
        for _ in range(config.place_layers):
            convolution = nn.Conv1d(d_model, d_model, width, groups=groups, bias=True)
            nn.init.kaiming_normal_(convolution.weight)
            self.convolutions.append(convolution)

    def forward(self, x: Tensor) -> Tensor:
        """Return the position embeddings to add to features (B, T, d_model)."""
        for convolution in self.convolutions:
            x = convolution(F.pad(x.transpose(1, 2), self.pads)).transpose(1, 2)
            x = self.activation(F.layer_norm(x, x.shape[-1:]))
        return x


BASE = parent.BASE.but(
    norms=layer_norms,
    places=StackedPositionalConv,
    place_width=19,
    place_layers=5,
    family="data2vec-audio",
)
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = parent.TINY.but(
    norms=layer_norms,
    places=StackedPositionalConv,
    place_width=3,
    place_layers=2,
    family="data2vec-audio",
)


def data2vec_audio(config: SoundConfig = BASE, **changes: Any) -> parent.Wav2Vec2:
    """Build a speech encoder; defaults are the paper's base model."""
    return parent.wav2vec2(config, **changes)

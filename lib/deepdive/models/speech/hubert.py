"""HuBERT: a speech encoder pretrained to predict the hidden units of masked frames. Hsu et al.
2021, "HuBERT: Self-Supervised Speech Representation Learning by Masked Prediction of Hidden Units".

System: hubert
Parent: wav2vec2
What differs:
- the target of a masked frame is one of k units: clusters of frames found by k-means before
  training (`deepdive.training.objectives.Units`), first of cepstra, then of a layer's states of the
  model trained on those (`deepdive.training.objectives.layer_states`)
- a unit's logit is the cosine similarity of the projected state and the unit's embedding, divided
  by 0.1 (`HubertForPreTraining`); there is no codebook, no negative and no noise
- the loss is cross-entropy on masked frames (`deepdive.training.objectives.unit_loss`)
Source: Hsu et al. 2021, section III, equations 1 to 3, and table I.
Book: 6.3.3
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import PreNorm
from deepdive.core.checks import positive
from deepdive.layers.heads import initialize
from deepdive.layers.speech_frontend import layer_norms
from deepdive.models.speech import wav2vec2 as parent
from deepdive.models.speech.wav2vec2_config import SoundConfig

BASE = parent.BASE.but(family="hubert")
LARGE = BASE.but(
    d_model=1024, n_heads=16, n_layers=24, d_ff=4096, d_target=768,
    norms=layer_norms, residual=PreNorm,
)  # fmt: skip
X_LARGE = LARGE.but(d_model=1280, n_layers=48, d_ff=5120, d_target=1024)
TINY = parent.TINY.but(family="hubert")


def hubert(config: SoundConfig = BASE, **changes: Any) -> parent.Wav2Vec2:
    """Build a speech encoder; defaults are the paper's base model."""
    return parent.wav2vec2(config, **changes)


class HubertForPreTraining(nn.Module):
    """score(t, u) = cos(A state_t, e_u) / temperature, (B, T, n_units): logits of t's unit."""

    def __init__(self, encoder: parent.Wav2Vec2, n_units: int) -> None:
        super().__init__()
        positive(n_units=n_units)
        config = encoder.config
        self.encoder, self.temperature = encoder, config.temperature
        self.project = nn.Linear(config.d_model, config.d_target)
        self.units = nn.Parameter(torch.rand(n_units, config.d_target) * 2 - 1)
        initialize(self.project)

    def forward(
        self, sound: Tensor, hidden: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Return logits for sound (B, n); hidden: bool (B, T); mask: bool (B, n), True = real."""
        projected = F.normalize(self.project(self.encoder(sound, mask, hidden)), dim=-1)
        return projected @ F.normalize(self.units, dim=-1).T / self.temperature

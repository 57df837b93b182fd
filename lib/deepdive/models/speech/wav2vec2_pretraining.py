"""Pretraining heads of wav2vec 2.0: predictions for masked frames, and their quantized targets."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from deepdive.layers.quantizer import Quantizer
from deepdive.models.speech.wav2vec2 import Wav2Vec2, check_mask


class ContrastiveOutput(NamedTuple):
    """said, target (B, T, d_target): the prediction for each frame, and its quantized features;
    usage (B, T, codebooks, codes), as in `Quantized`.
    """

    said: Tensor
    target: Tensor
    usage: Tensor


class Wav2Vec2ForPreTraining(nn.Module):
    """said = W_s state + b_s; target = W_t code + b_t: states of partly masked sound, and codes of
    the same sound unmasked.
    """

    def __init__(self, encoder: Wav2Vec2) -> None:
        super().__init__()
        config = encoder.config
        self.encoder = encoder
        self.quantizer = Quantizer(config.widths[-1], config.codebooks, config.codes, config.d_code)
        self.say = nn.Linear(config.d_model, config.d_target)
        self.target = nn.Linear(config.d_code, config.d_target)

    def forward(
        self, sound: Tensor, hidden: Tensor | None = None, mask: Tensor | None = None
    ) -> ContrastiveOutput:
        """Return both for sound (B, n); hidden: bool (B, T); mask: bool (B, n), True = real."""
        features = self.encoder.embeddings.heard(sound)
        check_mask(mask, sound)
        states = self.encoder.read(features, self.encoder.real(mask), hidden)
        codes, usage = self.quantizer(features)
        return ContrastiveOutput(self.say(states), self.target(codes), usage)

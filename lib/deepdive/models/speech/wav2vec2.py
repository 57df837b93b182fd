"""wav2vec 2.0: a speech encoder with contrastive pretraining on masked frames. Baevski et al.
2020, "wav2vec 2.0: A Framework for Self-Supervised Learning of Speech Representations".

Long because the waveform mask counts samples, and the masked-frame mask counts frames.

System: wav2vec2
Parent: bert
What differs:
- a token is 25 ms of the waveform every 20 ms, from seven convolutions; there is no vocabulary
  (`FeatureEncoder`, by `widths`, `kernels`, `strides`)
- relative positions come from one convolution over neighboring frames, added once to the input
  (`ConvPositionalEmbedding`)
- spans of frames are masked, and the target is not a token: the correct code must be identified
  among codes of other masked frames (`deepdive.training.objectives.contrastive_loss`)
- a code joins one entry of each of two codebooks, chosen by a Gumbel softmax (`Quantizer`); a loss
  encourages the use of all entries (`deepdive.training.objectives.diversity_loss`)
- base has a group norm in the first convolution, and is post-norm (`group_norm_first`, `PostNorm`);
  large has layer norms in all convolutions, and is pre-norm (`layer_norms`, `PreNorm`)
Source: Baevski et al. 2020, sections 2 to 4, and their released code.
Book: 6.3.1

LayerDrop, used only in training, is left out.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from deepdive.core import LayerNorm, PreNorm
from deepdive.core.checks import flags
from deepdive.core.masks import Padding
from deepdive.core.stack import Stack
from deepdive.layers.heads import TokenClassificationHead, initialize
from deepdive.layers.speech_frontend import layer_norms
from deepdive.models.speech.embeddings import SoundEmbeddings
from deepdive.models.speech.wav2vec2_config import SoundConfig


def check_mask(mask: Tensor | None, sound: Tensor) -> None:
    """Raise TypeError unless a mask is bool, ValueError unless it has the sound's samples."""
    if mask is not None:
        flags("mask", mask, sound.shape[:2], "(B, n), True = a real step of the sound")


class Wav2Vec2(nn.Module):
    """Sound (B, n) -> states (B, T, d_model), one per (product of `strides`) samples."""

    def __init__(self, embeddings: SoundEmbeddings, stack: Stack, config: SoundConfig) -> None:
        super().__init__()
        self.embeddings, self.stack, self.config = embeddings, stack, config

    def real(self, mask: Tensor | None) -> Tensor | None:
        """Return which frames are real, bool (B, T), given which samples are, bool (B, n)."""
        return None if mask is None else self.embeddings.features.real(mask)

    def read(
        self, features: Tensor, real: Tensor | None = None, hidden: Tensor | None = None
    ) -> Tensor:
        """Return the states of features (B, T, d_features) from `embeddings.heard`."""
        x = self.embeddings(features, real, hidden)
        return self.stack(x, mask=None if real is None else Padding(real))

    def forward(
        self, sound: Tensor, mask: Tensor | None = None, hidden: Tensor | None = None
    ) -> Tensor:
        """Return the states of sound (B, n) or (B, n, channels); mask: bool (B, n), True = real;
        hidden: bool (B, T), True = the mask embedding replaces the frame.
        """
        features = self.embeddings.heard(sound)
        check_mask(mask, sound)
        return self.read(features, self.real(mask), hidden)


BASE = SoundConfig()
LARGE = BASE.but(
    d_model=1024, n_heads=16, n_layers=24, d_ff=4096, d_code=768, d_target=768,
    norms=layer_norms, convolution_bias=True, residual=PreNorm,
)  # fmt: skip
TINY = BASE.but(
    widths=(8, 8), kernels=(4, 4), strides=(4, 4), place_width=4, place_groups=2,
    d_model=32, n_heads=4, n_layers=2, d_ff=64, codes=4, d_code=8, d_target=8, n_negatives=3,
    dropout=0.0, ff_dropout=0.0, attention_dropout=0.0, final_dropout=0.0,
)  # fmt: skip


def wav2vec2(config: SoundConfig = BASE, **changes: Any) -> Wav2Vec2:
    """Build a speech encoder; defaults are the paper's base model. Raises as `bert` does."""
    config = SoundConfig.given(config, changes)
    norm = LayerNorm(config.d_model, config.eps) if config.residual.final_norm else None
    stack = Stack(lambda layer: config.block(config, layer), config.n_layers, norm)
    model = Wav2Vec2(SoundEmbeddings(config), stack, config)
    initialize(model)
    return model


def for_ctc(encoder: Wav2Vec2) -> TokenClassificationHead:
    """Add a character head to each state; `deepdive.training.objectives.ctc` trains it."""
    config = encoder.config
    return TokenClassificationHead(encoder, config.d_model, config.vocab_size, config.final_dropout)

"""wav2vec 2.0, BERT's encoder for sound: rows of a waveform, learned without any text. Baevski et
al. 2020, "wav2vec 2.0: A Framework for Self-Supervised Learning of Speech Representations".

Long because gaps and padding, which count in steps of the sound, are not those of rows.

System: wav2vec2
Parent: bert
What differs:
- a token is 25 ms of the waveform every 20 ms, made by seven convolutions; there is no vocabulary
  (`FeatureEncoder`, by `widths`, `kernels`, `strides`)
- where a row stands is told by a convolution over its neighbours, added once
  (`ConvPositionalEmbedding`)
- spans of rows are hidden, and the answer is no word: among codes drawn from other hidden rows the
  right one must be found (`deepdive.training.objectives.contrastive_loss`)
- a code is one entry of each of two codebooks, chosen through Gumbel noise (`Quantiser`), and all
  entries shall be used (`deepdive.training.objectives.diversity_loss`)
- base normalises the first convolution and each sum (`group_norm_first`, `PostNorm`); the large
  form all convolutions and inside the branches (`layer_norms`, `PreNorm`)
Source: Baevski et al. 2020, sections 2 to 4, and their released code.
Book: 6.3.1

LayerDrop, which acts in training alone, is left out.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from deepdive.core import LayerNorm, PreNorm
from deepdive.core.checks import flags
from deepdive.core.masks import Padding
from deepdive.core.stack import Stack
from deepdive.layers.heads import TokenClassificationHead, initialise
from deepdive.layers.speech_frontend import layer_norms
from deepdive.models.speech.embeddings import SoundEmbeddings
from deepdive.models.speech.wav2vec2_config import SoundConfig


def check_mask(mask: Tensor | None, sound: Tensor) -> None:
    """Raise TypeError unless a mask is bool, ValueError unless it has the sound's steps."""
    if mask is not None:
        flags("mask", mask, sound.shape[:2], "(B, n), True = a real step of the sound")


class Wav2Vec2(nn.Module):
    """Sound (B, n) -> states (B, T, d_model), one every product of `strides` steps."""

    def __init__(self, embeddings: SoundEmbeddings, stack: Stack, config: SoundConfig) -> None:
        super().__init__()
        self.embeddings, self.stack, self.config = embeddings, stack, config

    def real(self, mask: Tensor | None) -> Tensor | None:
        """Return which rows are real, bool (B, T), of which steps are, bool (B, n)."""
        return None if mask is None else self.embeddings.features.real(mask)

    def read(
        self, features: Tensor, real: Tensor | None = None, hidden: Tensor | None = None
    ) -> Tensor:
        """Return the states of features (B, T, d_features) that `embeddings.heard` made."""
        x = self.embeddings(features, real, hidden)
        return self.stack(x, mask=None if real is None else Padding(real))

    def forward(
        self, sound: Tensor, mask: Tensor | None = None, hidden: Tensor | None = None
    ) -> Tensor:
        """Return the states of sound (B, n) or (B, n, channels); mask: bool (B, n), True = real;
        hidden: bool (B, T), True = the row is replaced by the mask's.
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
    """Build a reader of sound; defaults are the paper's base model. Raises as `bert` does."""
    config = SoundConfig.given(config, changes)
    norm = LayerNorm(config.d_model, config.eps) if config.residual.final_norm else None
    stack = Stack(lambda layer: config.block(config, layer), config.n_layers, norm)
    model = Wav2Vec2(SoundEmbeddings(config), stack, config)
    initialise(model)
    return model


def for_ctc(encoder: Wav2Vec2) -> TokenClassificationHead:
    """Put scores of letters on each state; `deepdive.training.objectives.ctc` trains them."""
    config = encoder.config
    return TokenClassificationHead(encoder, config.d_model, config.vocab_size, config.final_dropout)

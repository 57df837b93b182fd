"""What an encoder learns from sound without text: wav2vec 2.0's lesson and HuBERT's, of cepstra.

Each is a loss for `deepdive.training.fit` on `SpeechBatches`, whose letters it passes over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.checks import positive
from deepdive.data.speech import Utterances
from deepdive.training.objectives.hubert_units import Units, make_units
from deepdive.training.objectives.hubert_units import unit_loss as units_said
from deepdive.training.objectives.wav2vec2_contrastive import (
    contrastive_loss,
    diversity_loss,
    hidden_spans,
    sample_negatives,
)
from deepdive_book.tasks.speech import Batch, load_audio

SHARE, SPAN = 0.065, 10  # of rows that begin a hidden span, and its length: wav2vec 2.0's own
N_WRONG = 30  # codes beside the right one
MIDDLE = 6  # a row reads frames 4 i to 4 i + 12: two convolutions of five frames, each of stride 2


def code_loss(steps: int, weight: float = 0.1) -> Callable[[Any, Batch], Tensor]:
    """Return wav2vec 2.0's loss of a `Wav2Vec2ForPreTraining` on a batch: contrastive + weight *
    diversity. The temperature of the choice falls from 2 to 0.5 over `steps`.
    """
    positive(steps=steps)
    done = 0

    def of(model: Any, batch: Batch) -> Tensor:
        nonlocal done
        features, mask = batch[:2]
        real: Any = model.encoder.real(mask)
        hidden = hidden_spans(real, SHARE, SPAN)
        model.quantizer.temperature = 2 * 0.25 ** min(1.0, done / steps)
        done += 1
        said, target, usage = model(features, hidden, mask)
        found = contrastive_loss(said, target, hidden, sample_negatives(hidden, N_WRONG))
        return found + weight * diversity_loss(usage, hidden)

    return of


def unit_loss(units: Units) -> Callable[[Any, Batch], Tensor]:
    """Return HuBERT's loss of a `HubertForPreTraining` on a batch: cross-entropy of the hidden
    rows' units, which are those of the frame in the middle of each row.
    """

    def of(model: Any, batch: Batch) -> Tensor:
        features, mask = batch[:2]
        real: Any = model.encoder.real(mask)
        hidden = hidden_spans(real, SHARE, SPAN)
        said = model(features, hidden, mask)
        middles = features[:, MIDDLE::4]
        middles = F.pad(middles, (0, 0, 0, max(0, real.shape[1] - middles.shape[1])))
        return units_said(said, units(middles[:, : real.shape[1]]), hidden, real)

    return of


def cepstral_units(utterances: Utterances, k: int = 128, seed: int = 0) -> Units:
    """Return k units of every third frame that a model reads: HuBERT's first iteration."""
    rows = torch.cat([load_audio(torch.from_numpy(x))[::3] for x in utterances.features])
    return make_units(rows, k, draw=torch.Generator().manual_seed(seed))

"""A recogniser that writes, letter by letter, trained with CTC beside.

    loss = (1 - weight) * mean over utterances of -sum log p(letter | those before, sound)
           + weight * mean over utterances of -log p_ctc(letters)

CTC knows from the first step that letters come in the order of the sound; attention must find it.
Source: Kim, Hori and Watanabe 2017; Watanabe et al. 2017 (hybrid CTC/attention).
"""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from deepdive.models.speech.asr_heads import Seq2SeqASR
from deepdive.tokenizers import EOS, PAD
from deepdive_book.tasks.speech import Batch, by_ctc


def loss(weight: float = 0.3, smoothing: float = 0.1) -> Callable[[Seq2SeqASR, Batch], Tensor]:
    """Return the loss of a `Seq2SeqASR` on a batch, with CTC's part `weight`."""

    def of(model: Seq2SeqASR, batch: Batch) -> Tensor:
        features, mask, letters, counts = batch
        written, scored, real = model(features, mask, letters)
        target = F.pad(letters, (0, 1), value=PAD).scatter(1, counts[:, None], EOS)
        each = F.cross_entropy(
            written.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=smoothing,
            reduction="sum",
        )  # fmt: skip
        own = each / len(letters)
        return (1 - weight) * own + weight * by_ctc(scored, real.sum(1), letters, counts)

    return of

"""A recogniser that writes, letter by letter, trained with CTC beside.

    loss = (1 - weight) * mean over utterances of -sum log p(letter | those before, sound)
           + weight * mean over utterances of -log p_ctc(letters)

CTC knows from the first step that letters come in the order of the sound; attention must find it.
Source: Kim, Hori and Watanabe 2017; Watanabe et al. 2017 (hybrid CTC/attention).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.tokenizers import BOS, EOS, PAD
from deepdive.training.tasks.speech import Batch, by_ctc


class Writer(nn.Module):
    """A model that writes what it hears (`model`, such as a `Speech2Text`), and beside it scores of
    letters on each state of its encoder.
    """

    def __init__(self, model: Any, d_encoder: int, n_letters: int) -> None:
        super().__init__()
        self.model = model
        self.out = nn.Linear(d_encoder, n_letters)

    def forward(self, features: Tensor, mask: Tensor, letters: Tensor) -> tuple[Tensor, ...]:
        """Return logits (B, 1 + U, V) of the letter that follows each, the first behind `BOS`;
        CTC's logits (B, T', V); and which of those rows are real, bool (B, T').
        """
        state = self.model.begin(features, mask)
        real = state.memory_mask
        tokens = F.pad(letters, (1, 0), value=BOS)
        written = self.model.head(self.model.decode(tokens, state))
        return written, self.out(state.memory), real


def loss(weight: float = 0.3, smoothing: float = 0.1) -> Callable[[Writer, Batch], Tensor]:
    """Return the loss of a `Writer` on a batch, with CTC's part `weight`."""

    def of(model: Writer, batch: Batch) -> Tensor:
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

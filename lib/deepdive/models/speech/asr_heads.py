"""Speech recognition heads on an encoder: CTC logits, or an encoder-decoder with an auxiliary CTC
head. Graves et al. 2006; Watanabe et al. 2017 (hybrid CTC/attention).
"""

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.tokenizers import BOS


class CTCModel(nn.Module):
    """logits = out(dropout(encoder(features))), (B, T', V): one per character, plus the blank."""

    def __init__(
        self, encoder: nn.Module, d_encoder: int, n_letters: int, dropout: float = 0.1
    ) -> None:
        super().__init__()
        positive(d_encoder=d_encoder, n_letters=n_letters)
        self.encoder, self.dropout = encoder, nn.Dropout(dropout)
        self.out = nn.Linear(d_encoder, n_letters)

    def forward(self, features: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits, and which of their frames are real, bool (B, T')."""
        states, real = self.encoder(features, mask)
        return self.out(self.dropout(states)), real


class Seq2SeqASR(nn.Module):
    """A speech recognizer (`model`, such as a `Speech2Text`), with an auxiliary CTC head on its
    encoder's states.
    """

    def __init__(self, model: Any, d_encoder: int, n_letters: int) -> None:
        super().__init__()
        self.model = model
        self.out = nn.Linear(d_encoder, n_letters)

    def forward(self, features: Tensor, mask: Tensor, letters: Tensor) -> tuple[Tensor, ...]:
        """Return logits (B, 1 + U, V) for the character after each position, the first after `BOS`;
        CTC's logits (B, T', V); and which of those frames are real, bool (B, T').
        """
        state = self.model.begin(features, mask)
        real = state.memory_mask.real
        tokens = F.pad(letters, (1, 0), value=BOS)
        written = self.model.head(self.model.decode(tokens, state))
        return written, self.out(state.memory), real

"""The recogniser of spoken digits: two convolutions over log-mel frames, a small encoder, CTC.

    rows(x)[t]  = gelu(W (x[2t-2], x[2t-1], x[2t], x[2t+1], x[2t+2]) + b)     twice: steps 1 and 2
    logits      = V encoder(rows(rows(x))) + c                               a row each 20 ms

No position is added: the convolutions see order, and sounds matter more than when they come. It
says phones, so that its posterior shows which sound is heard when; a digit's probability is the
sum over all paths that say its phones. `units` are centres of frames, for the picture alone.
"""

import json
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PreNorm, gelu
from deepdive.core.masks import Padding
from deepdive.core.stack import Stack
from deepdive.published.weights import adopt, read
from deepdive.training.objectives.ctc import ctc_loss

BANDS, WINDOW, UNITS = 24, 5, 32
SOUNDS = {
    "ZERO": ("Z", "IH", "R", "OW"), "ONE": ("W", "AH", "N"), "TWO": ("T", "UW"),
    "THREE": ("TH", "R", "IY"), "FOUR": ("F", "AO", "R"), "FIVE": ("F", "AY", "V"),
    "SIX": ("S", "IH", "K", "S"), "SEVEN": ("S", "EH", "V", "AH", "N"), "EIGHT": ("EY", "T"),
    "NINE": ("N", "AY", "N"),
}  # fmt: skip
PHONES = ("-", *dict.fromkeys(phone for phones in SOUNDS.values() for phone in phones))
TARGETS = {word: [PHONES.index(phone) for phone in phones] for word, phones in SOUNDS.items()}


def neighbors(x: Tensor, step: int) -> Tensor:
    """Each `step`-th frame of x (B, T, n) with the two before and after it, (B, ceil(T / step),
    5 n); outside there are zeros.
    """
    reach = WINDOW // 2
    wide = F.pad(x, (0, 0, reach, reach)).unfold(1, WINDOW, step)  # (B, T', n, 5)
    return wide.transpose(2, 3).flatten(2)


class SpokenDigits(nn.Module):
    """Log-mel frames (B, T, 24) and their numbers (B,) -> logits (B, ceil(T / 2), phones)."""

    def __init__(self, d_model: int = 64, n_heads: int = 4, n_layers: int = 2, d_ff: int = 128,
                 dropout: float = 0.0) -> None:  # fmt: skip
        super().__init__()
        self.first = nn.Linear(WINDOW * BANDS, d_model)
        self.second = nn.Linear(WINDOW * d_model, d_model)
        stack = Stack(
            lambda layer: Block(
                MultiHeadAttention(d_model, n_heads, dropout=dropout),
                FeedForward(d_model, d_ff, gelu),
                residual=lambda width: PreNorm(width, dropout=dropout),
            ),
            n_layers,
            LayerNorm(d_model),
        )
        self.encoder = nn.ModuleDict({"stack": stack})
        self.out = nn.Linear(d_model, len(PHONES))
        self.units: Tensor
        self.register_buffer("units", torch.zeros(UNITS, BANDS))
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.xavier_uniform_(part.weight)
                nn.init.zeros_(part.bias)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return the logits; rows at and after ceil(lengths / 2) mean nothing."""
        real = torch.arange(x.shape[1]) < lengths[:, None]
        rows = gelu(self.first(neighbors(x * real[..., None], 1))) * real[..., None]
        rows = gelu(self.second(neighbors(rows, 2)))
        kept = torch.arange(rows.shape[1]) < (lengths[:, None] + 1) // 2
        return self.out(self.encoder["stack"](rows, mask=Padding(kept)))

    def digits(self, logits: Tensor) -> Tensor:
        """Return the probability of each digit (10,) from the logits (T, phones) of an utterance:
        of all its paths, beside those of the other nine.
        """
        fit = [i for i, target in enumerate(TARGETS.values()) if len(target) <= len(logits)]
        texts = [torch.tensor(target) for target in TARGETS.values() if len(target) <= len(logits)]
        scores = logits.new_full((len(TARGETS),), -1e30)
        if fit:
            lengths = torch.tensor([len(text) for text in texts])
            padded = nn.utils.rnn.pad_sequence(texts, batch_first=True)
            each = logits.expand(len(fit), -1, -1), torch.full((len(fit),), len(logits))
            scores[fit] = -ctc_loss(*each, padded, lengths)
        return scores.softmax(0)


class SpokenToy(NamedTuple):
    """The trained recogniser; how many recordings it learned from; and for each of their speakers
    the share of digits that one of the same form told right which had learned from the others.
    """

    model: SpokenDigits
    recordings: int
    others: dict[str, float]


def spoken_digits() -> SpokenToy:
    """Return the model that hears a spoken digit
    (`deepdive_book.ch06c.figures.spoken_digit_recognizer`)."""
    folder, model = Path(__file__).parent, SpokenDigits()
    about = json.loads((folder / "spoken_digits.json").read_text(encoding="utf-8"))
    adopt(model, read(folder / "spoken_digits.safetensors"))
    return SpokenToy(model.eval(), about["recordings"], about["others"])

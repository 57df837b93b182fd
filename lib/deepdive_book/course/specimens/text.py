"""Texts of chapter 6a's clinic: sentences of a dozen words, letter by letter."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

LETTERS = "_^ .adehlnorstw"  # padding, the beginning, the space, the end, letters
WORDS = ("the", "hen", "has", "seen", "ten", "toads", "and", "an", "old", "rat", "sat", "near")


class Texts(NamedTuple):
    """Texts: tokens (B, T), of which those that are `real` (B, T) count; what they say."""

    tokens: Tensor
    real: Tensor
    said: tuple[str, ...]

    def only(self, i: int) -> Texts:
        """Return text i alone, without padding."""
        n = int(self.real[i].sum())
        return Texts(self.tokens[i : i + 1, :n], self.real[i : i + 1, :n], self.said[i : i + 1])


def texts(count: int, seed: int = 99, whole: bool = True) -> Texts:
    """Return texts of one to five words each; with `whole=False` cut after some letter."""
    draw = torch.Generator().manual_seed(seed)
    said = []
    for _ in range(count):
        n = int(torch.randint(1, 6, (), generator=draw))
        words = [WORDS[i] for i in torch.randint(len(WORDS), (n,), generator=draw).tolist()]
        text = " ".join(words) + "."
        if not whole:
            text = text[: int(torch.randint(2, len(text), (), generator=draw))]
        said.append(text)
    rows = [torch.tensor([LETTERS.index(letter) for letter in "^" + text]) for text in said]
    tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return Texts(tokens, tokens != 0, tuple(said))

"""Recordings of chapter 6c's clinic: generated beeps, each letter a tone of its own."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

RATE = 2000
SYMBOLS = "- AENT"  # the blank, the space, four letters
TONES = {"A": 220.0, "E": 370.0, "N": 520.0, "T": 670.0}  # Hz
WORDS = ("TEN", "NET", "ANT", "TEA", "EAT", "NEAT", "TENT", "ANNA")


class Sounds(NamedTuple):
    """Recordings: waves (B, n), of which the first `lengths` (B,) samples count; what they say."""

    waves: Tensor
    lengths: Tensor
    texts: tuple[str, ...]
    rate: int

    def only(self, i: int) -> Sounds:
        """Return recording i alone, without padding."""
        n = self.lengths[i : i + 1]
        return Sounds(self.waves[i : i + 1, : int(n)], n, self.texts[i : i + 1], self.rate)


def sounds(count: int, seed: int = 99, rate: int = RATE) -> Sounds:
    """Return recordings of one to four words each; with another rate the same ones again."""
    draw = torch.Generator().manual_seed(seed)
    made, texts = [], []
    for _ in range(count):
        words = [
            WORDS[i] for i in _draw(len(WORDS), int(torch.randint(1, 5, (), generator=draw)), draw)
        ]
        texts.append(" ".join(words))
        parts = [" ", *" ".join(words), " "]
        lasts = 0.09 + 0.04 * torch.rand(len(parts), generator=draw)  # seconds
        lasts += torch.tensor([0.04 * (letter == " ") for letter in parts])
        lasts[[0, -1]] = 0.03  # a short silence at both ends, which is no space
        pieces = []
        for letter, seconds in zip(parts, lasts.tolist(), strict=True):
            t = torch.arange(round(seconds * 1000) * rate // 1000) / rate
            fade = (t / 0.015).clamp(max=1) * ((seconds - t) / 0.015).clamp(0, 1)
            tone = torch.sin(2 * math.pi * TONES.get(letter, 0.0) * t)
            pieces.append(fade * tone)
        near = 0.03 ** float(torch.rand((), generator=draw))  # to the microphone
        made.append(near * torch.cat(pieces))
    lengths = torch.tensor([len(wave) for wave in made])
    waves = nn.utils.rnn.pad_sequence(made, batch_first=True)
    hum = torch.Generator().manual_seed(seed + 1)
    real = torch.arange(waves.shape[1]) < lengths[:, None]
    waves = waves + 0.002 * torch.randn(waves.shape, generator=hum)
    waves = torch.where(real, waves, waves[lengths.argmax()])
    return Sounds(waves, lengths, tuple(texts), rate)


def _draw(n: int, count: int, draw: torch.Generator) -> list[int]:
    return [int(i) for i in torch.randint(n, (count,), generator=draw)]

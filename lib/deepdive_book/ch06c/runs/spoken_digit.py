"""How many spoken digits the recognizer of page 6c.6 gets right after a change of the sound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepdive.audio.augment import add_noise, change_speed
from deepdive.data.speech import Recordings
from deepdive_book.ch06c.figures.spoken_digit_recognizer import read
from deepdive_book.ch06c.toys.spoken_digits import TARGETS, SpokenDigits

Change = Callable[[Any], Any]


def changes(seed: int = 0) -> dict[str, Change]:
    """Return the changes by name: none, three speeds, and noise of three loudnesses.

    The noise is sampled from one generator, so that it follows the order in which they are applied.
    """
    generator = torch.Generator().manual_seed(seed)

    def noisy(snr: float) -> Change:
        def change(wave: Any) -> Tensor:
            return add_noise(wave, snr, generator=generator)

        return change

    def faster(factor: float) -> Change:
        return lambda wave: change_speed(wave, factor)

    found: dict[str, Change] = {"as recorded": lambda wave: wave}
    found |= {f"played {factor} times as fast": faster(factor) for factor in (0.7, 1.4, 1.7)}
    return found | {f"in noise, {snr} dB": noisy(snr) for snr in (20, 10, 0)}


def is_correct(model: SpokenDigits, recordings: Recordings, change: Change) -> np.ndarray:
    """Return whether the likeliest digit of each changed recording is its word, bool (N,)."""
    names = [*TARGETS]
    return np.array([
        names[int(read(model, change(wave)).digits.argmax())] == word
        for wave, word in zip(recordings.waves, recordings.words, strict=True)
    ])  # fmt: skip

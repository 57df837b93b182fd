"""Data augmentation for speech: SpecAugment, speed perturbation, and noise at a given SNR.

    SpecAugment   w <= W adjacent bands and w <= T frames, at random positions, are set to the mean
    speed         wave'[t] = wave[factor t]: shorter and higher-pitched for a factor above 1
    noise         wave + g noise,  g^2 = mean(wave^2) / (mean(noise^2) 10^(dB / 10))

Source: Park et al. 2019; Ko et al. 2015 (0.9, 1 and 1.1).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import torch
from torch import Generator, Tensor

from deepdive.audio.errors import AudioError
from deepdive.audio.files import resampled
from deepdive.audio.mel import to_waveform
from deepdive.core.checks import not_negative

SPEEDS = (0.9, 1.0, 1.1)


def spec_augment(
    features: Tensor, *, bands: int = 2, band_width: int = 8, times: int = 2, time_width: int = 20,
    share: float = 0.2, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Return features (T, n) with `bands` frequency masks and `times` time masks set to their mean.

    band_width, time_width  the maximum mask width; each width from 0 to it is equally likely
    share                   a time mask covers at most this fraction of the utterance
    Raises AudioError for a share outside 0 to 1, and for a band_width above n.
    """
    not_negative(bands=bands, band_width=band_width, times=times, time_width=time_width)
    length, n = features.shape
    if not 0 <= share <= 1 or band_width > n:
        raise AudioError(f"share, band_width: {share}, {band_width}, expected 0 to 1, 0 to {n}")
    masked = torch.zeros(length, n, dtype=torch.bool)
    for _ in range(bands):
        masked[:, _run(n, band_width, generator)] = True
    for _ in range(times):
        masked[_run(length, min(time_width, int(share * length)), generator)] = True
    return torch.where(masked, features.mean(), features)


def _run(size: int, longest: int, generator: Generator | None) -> slice:
    """Sample a slice of 0 to `longest` positions within range(size)."""
    width = int(torch.randint(longest + 1, (), generator=generator))
    first = int(torch.randint(size - width + 1, (), generator=generator))
    return slice(first, first + width)


def change_speed(wave: Any, factor: float) -> Tensor:
    """Return the wave (n,) at `factor` times the speed, (about n / factor,); the pitch rises too.

    Raises AudioError for a factor outside 0.25 to 4.
    """
    if not 0.25 <= factor <= 4:
        raise AudioError(f"factor: {factor}, expected 0.25 to 4")
    ratio = Fraction(factor).limit_denominator(100)
    return resampled(to_waveform(wave), ratio.numerator, ratio.denominator)


def add_noise(
    wave: Any, decibels: float, noise: Any = None, generator: Generator | None = None
) -> Tensor:
    """Return the wave (n,) with added noise at a signal-to-noise ratio of `decibels`; float32.

    noise  a waveform, of which a random segment is used (repeated if too short); None: white noise
    Raises AudioError for a silent wave, silent noise, or decibels that are not finite.
    """
    samples = to_waveform(wave)
    if not math.isfinite(decibels):
        raise AudioError(f"decibels: {decibels}, expected a finite number")
    n = len(samples)
    if noise is None:
        added = torch.randn(n, generator=generator, dtype=torch.float64)
    else:
        room = to_waveform(noise)
        room = room.repeat(-(-n // len(room)) + (n % len(room) > 0))
        first = int(torch.randint(len(room) - n + 1, (), generator=generator))
        added = room[first : first + n]
    wave_power, noise_power = float((samples**2).mean()), float((added**2).mean())
    if not wave_power or not noise_power:
        raise AudioError(f"{'noise' if wave_power else 'wave'}: silent: its power is 0")
    return (samples + math.sqrt(wave_power / noise_power / 10 ** (decibels / 10)) * added).float()

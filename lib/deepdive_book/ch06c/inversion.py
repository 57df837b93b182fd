"""From what log-mel features keep, back to a waveform: what can still be heard of it.

The filters mix neighbouring frequencies, and the spectrum's phases are gone. `mel_power` finds a
spectrum P >= 0 with P M near the mel values; `griffin_lim` finds phases that agree with themselves:

    x <- the wave of (A, phase);  phase <- the phase of x's spectrum;  again

Windows overlap, so that not every A and phase are a wave's; each turn brings them nearer.
Source: Griffin and Lim 1984; Lee and Seung 2001 for the spectrum.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from deepdive.audio.mel import frames, hann, mel_filters


def mel_power(mel: Tensor, filters: Tensor, turns: int = 60) -> Tensor:
    """P (T, n_fft/2 + 1) with P @ filters near mel (T, n_mels), all of it 0 or more.

    From P = 1, P <- P * (mel M') / (P M M') lowers the squared distance at each turn.
    """
    mel, spread = mel.double(), filters @ filters.T
    wanted = mel @ filters.T
    power = torch.full_like(wanted, float(mel.mean()) / float(filters.sum(0).mean()))
    for _ in range(turns):
        power = power * wanted / (power @ spread).clamp(min=1e-30)
    return power


def overlapped(pieces: Tensor, window: Tensor, step: int) -> Tensor:
    """The wave (n,) whose windowed frames are nearest to these (T, length), by least squares:
    the sum of frames times window over the sum of squared windows.
    """
    t, length = pieces.shape
    n = (t - 1) * step + length
    place = (torch.arange(t)[:, None] * step + torch.arange(length)).reshape(-1)
    total = torch.zeros(n, dtype=pieces.dtype).index_add_(0, place, (pieces * window).reshape(-1))
    weight = torch.zeros(n, dtype=pieces.dtype)
    weight.index_add_(0, place, (window**2).expand(t, -1).reshape(-1))
    return total / weight.clamp(min=1e-3 * float(weight.max()))


def griffin_lim(power: Tensor, length: int, step: int, turns: int = 32, seed: int = 0) -> Tensor:
    """A wave (n,) whose power spectrum is near `power` (T, n_fft/2 + 1), from phases by lot.

    length  of a frame, step from one to the next, in samples; Hann window
    """
    n_fft, window = 2 * (power.shape[1] - 1), hann(length)
    height = power.double().sqrt()
    lot = torch.rand(height.shape, generator=torch.Generator().manual_seed(seed)).double()
    phase = torch.polar(torch.ones_like(height), 2 * math.pi * lot)
    for _ in range(turns):
        wave = overlapped(torch.fft.irfft(height * phase, n_fft)[:, :length], window, step)
        spectrum = torch.fft.rfft(frames(wave, length, step) * window, n_fft)
        phase = spectrum / spectrum.abs().clamp(min=1e-12)
    return overlapped(torch.fft.irfft(height * phase, n_fft)[:, :length], window, step)


def invert_mel(
    features: Tensor, rate: int, *, length: float = 0.025, step: float = 0.010,
    low: float = 20.0, turns: int = 32, seed: int = 0,
) -> Tensor:  # fmt: skip
    """A wave (n,), float32, that `log_mel` with these settings turns into about these features.

    What `log_mel` does not keep, the wave's sign and its phases, is not the original's.
    """
    size = round(length * rate)
    n_fft = 1 << (size - 1).bit_length()
    filters = mel_filters(features.shape[1], n_fft, rate, low=low)
    wave = griffin_lim(
        mel_power(features.double().exp(), filters), size, round(step * rate), turns, seed
    )
    return (wave / max(1.0, float(wave.abs().max()))).float()

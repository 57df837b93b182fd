"""Cepstra as if another had spoken: at another tempo, with a longer or a shorter throat.

Where only mel cepstra are left of a recording, its waveform can be neither played faster nor
shifted. But the n cepstra c are the first terms of a series of cosines over the M bands, so that a
smooth spectrum is still there, and can be read between its bands:

    log mel(m) = sum over k of a_k c_k cos(pi k (m + 1/2) / M)

    wave -> `deepdive.audio.mel.mfcc` -> stretched, warped -> standardised(stacked(...)) -> a model
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from deepdive.audio.errors import AudioError
from deepdive.audio.mel import cosines


def warped(cepstra: Tensor, factor: float, n_mels: int = 40) -> Tensor:
    """Return cepstra (T, n) of a speaker whose formants lie `factor` times as high on the mel
    scale: the spectrum of n_mels bands, read at m / factor. 1 changes nothing.

    Source: Jaitly and Hinton 2013 (vocal tract length perturbation), here of the smooth spectrum.
    Raises AudioError for a factor outside 0.5 to 2.
    """
    _check("factor", factor, 0.5, 2)
    n = cepstra.shape[-1]
    back = cosines(n, n_mels)  # log mel = cepstra @ back^T
    read = ((torch.arange(n_mels, dtype=torch.float64) + 0.5) / factor).clamp(max=n_mels)
    series = math.sqrt(2 / n_mels) * torch.cos(math.pi * torch.arange(n) * read[:, None] / n_mels)
    series[:, 0] *= math.sqrt(0.5)
    return cepstra @ (series.T @ back).to(cepstra)


def stretched(features: Tensor, factor: float) -> Tensor:
    """Return features (T, n) at another tempo, (round(factor T), n), each frame on the line between
    two. Pitch and formants stay, other than in a waveform played at another speed
    (`deepdive.audio.augment.change_speed`). Raises AudioError for a factor outside 0.25 to 4.
    """
    _check("factor", factor, 0.25, 4)
    at = torch.linspace(0, len(features) - 1, max(1, round(factor * len(features))))
    before = at.floor().long()
    part = (at - before)[:, None].to(features)
    return features[before].lerp(features[(before + 1).clamp(max=len(features) - 1)], part)


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise AudioError(f"{name}: {value}, expected {low} to {high}; 1 changes nothing")

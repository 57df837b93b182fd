"""Log-mel features, MFCCs and deltas of a waveform, step by step.

    frames      x_t[n] = wave[t step + n]                                   0 <= n < length
    window      x_t[n] h[n],      h[n] = (1 - cos(2 pi n / length)) / 2     (Hann)
    spectrum    X_t[k] = sum over n of x_t[n] exp(-2 pi i k n / n_fft),  P_t[k] = |X_t[k]|^2
    mel         m(f) = 2595 log10(1 + f / 700)   (HTK; `slaney`: straight to 1000 Hz, then log)
    filters     M[k, j]: a triangle over the frequencies f_k = k rate / n_fft from m_j to m_(j+2),
                its top at m_(j+1); the m are equally far apart on the mel scale
    log-mel     S_t[j] = log(max(sum over k of P_t[k] M[k, j], floor))
    cepstra     c_t[i] = s_i sqrt(2 / J) sum over j of S_t[j] cos(pi i (j + 1/2) / J),
                s_0 = sqrt(1/2), else 1
    deltas      d_t = sum over n of n (c_(t+n) - c_(t-n)) / (2 sum over n of n^2),  1 <= n <= N

`log_mel` combines these with plain settings; `whisper` and `kaldi` match those two programs, which
differ in padding, window, filters and logarithm.

Source: Davis and Mermelstein 1980; Young et al., The HTK Book, 5.4 and 5.6; Slaney 1998 (Auditory
Toolbox); Povey et al. 2011 (Kaldi).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from deepdive.audio.errors import AudioError
from deepdive.core.checks import numbers, positive

Scale = Literal["htk", "slaney"]
FLOOR = 1e-10
SLOPE, KNEE, LOG_STEP = 200 / 3, 1000.0, math.log(6.4) / 27  # Slaney: Hz per mel; log step per mel


def to_waveform(wave: Any) -> Tensor:
    """Return a one-channel waveform as a float64 tensor (n,).

    Raises AudioError for other shapes, for no samples, and for samples that are not finite.
    """
    found = torch.as_tensor(wave)
    if found.ndim != 1:
        raise AudioError(
            f"wave: got {tuple(found.shape)}, expected (n,): one channel; take the mean of two"
        )
    if not len(found):
        raise AudioError("wave: no samples: the recording is empty")
    if not found.is_floating_point():
        raise AudioError(f"wave: {found.dtype}, expected -1 to 1: divide 16-bit samples by 32768")
    if bad := int((~found.isfinite()).sum()):
        raise AudioError(f"wave: {bad} of {len(found)} samples are NaN or infinite: record again")
    return found.double()


def frames(wave: Tensor, length: int, step: int) -> Tensor:
    """Return the frames (T, length) of a wave (n,), T = 1 + (n - length) // step; drop the rest.

    Raises AudioError for a wave shorter than a frame.
    """
    positive(length=length, step=step)
    if wave.shape[-1] < length:
        raise AudioError(f"wave: {wave.shape[-1]} samples, expected at least a frame of {length}")
    return wave.unfold(-1, length, step)


def hann(length: int) -> Tensor:
    """Return the Hann window h (length,): 0 at the start, 1 in the middle; periodic, so windows
    shifted by half a length sum to 1.
    """
    positive(length=length)
    n = torch.arange(length, dtype=torch.float64)
    return (1 - torch.cos(2 * math.pi * n / length)) / 2


def fourier(n_fft: int) -> tuple[Tensor, Tensor]:
    """Return the DFT's cosines and sines (n_fft, n_fft/2 + 1): X = x @ cosines - i x @ sines."""
    n, k = torch.arange(n_fft).double(), torch.arange(n_fft // 2 + 1).double()
    angle = 2 * math.pi * (n[:, None] * k % n_fft) / n_fft
    return angle.cos(), angle.sin()


def power_spectrum(pieces: Tensor, n_fft: int | None = None) -> Tensor:
    """Return the power spectrum P (T, n_fft/2 + 1) of frames (T, length), zero-padded to n_fft.

    It is (x @ cosines)^2 + (x @ sines)^2 with those of `fourier`, computed by FFT.
    """
    n_fft = n_fft or pieces.shape[-1]
    if n_fft < pieces.shape[-1]:
        raise AudioError(f"n_fft: {n_fft}, expected at least the frame's {pieces.shape[-1]}")
    spectrum = torch.fft.rfft(pieces, n_fft)
    return spectrum.real**2 + spectrum.imag**2


def hertz_to_mel(hertz: Tensor | float, scale: Scale = "htk") -> Tensor:
    """Return m(f), the perceived pitch in mels of f hertz."""
    f = torch.as_tensor(hertz, dtype=torch.float64)
    if scale == "htk":
        return 2595 * torch.log10(1 + f / 700)
    return torch.where(
        f < KNEE, f / SLOPE, KNEE / SLOPE + (f.clamp(min=KNEE) / KNEE).log() / LOG_STEP
    )


def mel_to_hertz(mel: Tensor | float, scale: Scale = "htk") -> Tensor:
    """Return f(m), the inverse of `hertz_to_mel`."""
    m = torch.as_tensor(mel, dtype=torch.float64)
    if scale == "htk":
        return 700 * (10 ** (m / 2595) - 1)
    above = KNEE * (LOG_STEP * (m - KNEE / SLOPE)).clamp(min=0).exp()
    return torch.where(m < KNEE / SLOPE, m * SLOPE, above)


def mel_filters(
    n_mels: int, n_fft: int, rate: int, *, low: float = 0.0, high: float | None = None,
    scale: Scale = "htk", equal_areas: bool = False, straight_in_mel: bool = False,
) -> Tensor:  # fmt: skip
    """Return the mel filterbank M (n_fft/2 + 1, n_mels) from `low` to `high` Hz.

    equal_areas      each triangle has the height 2 / (its width in Hz) instead of 1, as in Slaney's
                     toolbox and Whisper, so white noise has equal power in all bands
    straight_in_mel  the triangles are linear in mel instead of hertz, as in Kaldi
    Raises AudioError if a band contains no frequency of the spectrum.
    """
    positive(n_mels=n_mels, n_fft=n_fft, rate=rate)
    high = rate / 2 if high is None else high
    if not 0 <= low < high <= rate / 2:
        raise AudioError(f"low, high: {low}, {high}, expected 0 <= low < high <= {rate / 2}")
    f = torch.arange(n_fft // 2 + 1, dtype=torch.float64) * rate / n_fft
    lowest, highest = hertz_to_mel(torch.tensor([low, high]), scale).tolist()
    edges = torch.linspace(lowest, highest, n_mels + 2, dtype=torch.float64)
    corners = mel_to_hertz(edges, scale)
    x, at = (hertz_to_mel(f, scale), edges) if straight_in_mel else (f, corners)
    rise = (x[:, None] - at[:-2]) / (at[1:-1] - at[:-2])
    fall = (at[2:] - x[:, None]) / (at[2:] - at[1:-1])
    filters = torch.minimum(rise, fall).clamp(min=0)
    if empty := int((filters.sum(0) == 0).sum()):
        raise AudioError(
            f"n_mels: got {n_mels}, {empty} of them without a frequency: lower it, or raise n_fft"
        )
    return filters * (2 / (corners[2:] - corners[:-2])) if equal_areas else filters


def log_mel(
    wave: Any, rate: int, n_mels: int = 40, *, length: float = 0.025, step: float = 0.010,
    n_fft: int | None = None, low: float = 20.0, high: float | None = None, scale: Scale = "htk",
) -> Tensor:  # fmt: skip
    """Return log-mel features S (T, n_mels), float32: Hann window, natural logarithm, no padding.

    length, step  of frames, in seconds; n_fft is the next power of two by default
    """
    size = round(length * rate)
    n_fft = n_fft or 1 << (size - 1).bit_length()
    windowed = frames(to_waveform(wave), size, round(step * rate)) * hann(size)
    filters = mel_filters(n_mels, n_fft, rate, low=low, high=high, scale=scale)
    return (power_spectrum(windowed, n_fft) @ filters).clamp(min=FLOOR).log().float()


def cosines(n: int, n_mels: int) -> Tensor:
    """Return the matrix (n_mels, n) of the orthonormal cosine transform (DCT-II)."""
    positive(n=n, n_mels=n_mels)
    if n > n_mels:
        raise AudioError(f"n: got {n} cepstra, expected at most the {n_mels} bands")
    i, j = torch.arange(n, dtype=torch.float64), torch.arange(n_mels, dtype=torch.float64)
    matrix = math.sqrt(2 / n_mels) * torch.cos(math.pi * i * (j[:, None] + 0.5) / n_mels)
    matrix[:, 0] *= math.sqrt(0.5)
    return matrix


def mfcc(wave: Any, rate: int, n: int = 13, n_mels: int = 40, **settings: Any) -> Tensor:
    """Return the first n MFCCs c (T, n), float32; `settings` are those of `log_mel`."""
    return (log_mel(wave, rate, n_mels, **settings).double() @ cosines(n, n_mels)).float()


def deltas(features: Tensor, reach: int = 2) -> Tensor:
    """Return deltas d (T, n): each feature's rate of change, the slope of a line fitted to
    2 reach + 1 frames; the first and last frame are repeated at the ends.
    """
    positive(reach=reach)
    _check_features(features)
    first, last = features[:1].expand(reach, -1), features[-1:].expand(reach, -1)
    wide, t = torch.cat([first, features, last]), len(features)
    around = range(1, reach + 1)
    rises = [n * (wide[reach + n :][:t] - wide[reach - n :][:t]) for n in around]
    return torch.stack(rises).sum(0) / (2 * sum(n * n for n in around))


def standardized(features: Tensor, epsilon: float = 0.0) -> Tensor:
    """Normalize each column of features (T, n) to mean 0 and variance 1 over the utterance:

        (x - mean) / (standard deviation + epsilon)

    A constant column has no variance: it becomes 0, as does every column of a single frame.
    """
    _check_features(features)
    numbers(epsilon=epsilon)
    varies = features.amax(0) != features.amin(0)  # NaN stays NaN
    scale = torch.where(varies, features.std(0, correction=0) + epsilon, 1.0)
    return torch.where(varies, features - features.mean(0), 0.0) / scale


def _check_features(features: Tensor) -> None:
    if features.ndim != 2 or not features.numel():
        raise AudioError(
            f"features: got {tuple(features.shape)}, expected (T, n) with at least one frame, as "
            "from log_mel and mfcc"
        )


def whisper(wave: Any, n_mels: int = 80) -> Tensor:
    """Return Whisper's features (T, n_mels) of a 16 kHz wave, float32.

    Frames are centered at t * 160: the ends are padded by reflection with half a frame of 400.
    Slaney's scale and equal areas; log10, clamped to 8 below the maximum, shifted and scaled to
    about -1 to 1. Source: Radford et al. 2022, and its `log_mel_spectrogram`.
    """
    samples = to_waveform(wave)
    if len(samples) <= 200:
        raise AudioError(
            f"wave: {len(samples)} samples, expected more than 200, to reflect its ends"
        )
    mirrored = torch.nn.functional.pad(samples[None], (200, 200), mode="reflect")[0]
    filters = mel_filters(n_mels, 400, 16000, scale="slaney", equal_areas=True)
    power = power_spectrum(frames(mirrored, 400, 160) * hann(400))[:-1]
    log_power = (power @ filters).clamp(min=FLOOR).log10()
    return ((log_power.maximum(log_power.max() - 8) + 4) / 4).float()


def kaldi(wave: Any, n_mels: int = 80, rate: int = 16000) -> Tensor:
    """Return Kaldi's `fbank` without dither (T, n_mels), float32, the input of Speech2Text.

    Samples are scaled to 16-bit integers. From each frame of 25 ms its mean is subtracted, then
    0.97 of the previous sample (pre-emphasis); the window is a symmetric Hann window to the power
    0.85; triangles linear in mel. Source: Povey et al. 2011, and `torchaudio.compliance.kaldi`.
    """
    size = round(0.025 * rate)
    n_fft = 1 << (size - 1).bit_length()
    pieces = frames(to_waveform(wave) * 2**15, size, round(0.010 * rate))
    pieces = pieces - pieces.mean(-1, keepdim=True)
    before = torch.cat([pieces[:, :1], pieces[:, :-1]], -1)
    n = torch.arange(size, dtype=torch.float64)
    window = ((1 - torch.cos(2 * math.pi * n / (size - 1))) / 2) ** 0.85
    filters = mel_filters(n_mels, n_fft, rate, low=20, straight_in_mel=True)
    power = power_spectrum((pieces - 0.97 * before) * window, n_fft)
    return (power @ filters).clamp(min=torch.finfo(torch.float32).eps).log().float()


def stacked(features: Tensor, orders: Sequence[int] = (1, 2)) -> Tensor:
    """Concatenate features (T, n), deltas, and deltas of deltas: (T, n * (1 + len(orders)))."""
    rows = [features]
    for _ in orders:
        rows.append(deltas(rows[-1]))
    return torch.cat(rows, -1)

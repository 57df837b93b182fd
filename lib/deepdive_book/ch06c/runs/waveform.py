"""Forms of a recording, from its spectrum to units, and what a simple classifier reads off them.

Page 6c.1. The recordings have `RATE` samples a second; a frame is a window of 25 ms, one every
10 ms. Features are (T, d) of each recording; pooled features are one vector a recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.audio.mel import cosines, frames, hann, log_mel, power_spectrum
from deepdive.data.speech import Recordings, fsdd
from deepdive_book.ch06c.inversion import griffin_lim, invert_mel
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit.profile import profile

RATE = 8000
WINDOW, HOP, N_FFT = 200, 80, 256  # samples
FLOOR = 1e-10  # of power, before its logarithm

Array = np.ndarray[Any, Any]


def load_recordings() -> Recordings:
    """Return the recordings of single digits: FSDD's, in the profile `ci` generated ones."""
    return _load_recordings(profile() == "ci")


@cache
def _load_recordings(generated: bool) -> Recordings:
    return voices(160, seed=1) if generated else fsdd()


def center(features: Tensor) -> Tensor:
    """Return features (T, n) without the recording's mean of each column."""
    return features - features.mean(0)


def _padded(wave: Any, size: int = WINDOW) -> Tensor:
    samples = torch.as_tensor(wave)
    return F.pad(samples, (0, max(0, size - len(samples))))


def mel_bands(n: int) -> list[Tensor]:
    """Return the log-mel features (T, n) of each recording, at least one frame."""
    return _mel_bands(n, profile() == "ci")


@cache
def _mel_bands(n: int, generated: bool) -> list[Tensor]:
    return [log_mel(_padded(wave), RATE, n) for wave in _load_recordings(generated).waves]


def mel_bands_at(wave: Any, rate: int, n: int = 20) -> Tensor:
    """Return the log-mel features of a wave that is read as if it had another rate, up to 8 kHz."""
    return log_mel(_padded(wave, rate // 40), rate, n, high=8000.0 if rate > RATE else None)


def log_spectra() -> list[Tensor]:
    """Return the log power (T, 129) of each recording at each frequency."""
    found = []
    for wave in load_recordings().waves:
        power = power_spectrum(frames(_padded(wave).double(), WINDOW, HOP) * hann(WINDOW), N_FFT)
        found.append(power.clamp(min=FLOOR).log())
    return found


def cepstra(n: int = 13, n_bands: int = 40) -> list[Tensor]:
    """Return the first cepstra (T, n) of each recording."""
    return [(x.double() @ cosines(n, n_bands)).float() for x in mel_bands(n_bands)]


def fit_units(features: Sequence[Tensor], n: int = 50, seed: int = 0) -> Tensor:
    """Return n centers (n, d) by k-means, of every frame or, where they are many, of some."""
    from sklearn.cluster import KMeans

    rows = torch.cat([center(x) for x in features])
    rows = rows[:: max(1, len(rows) // 12_000)]
    means = KMeans(n, n_init=1, max_iter=50, random_state=seed).fit(rows.numpy())
    return torch.from_numpy(means.cluster_centers_).to(rows.dtype)


def assign_units(features: Tensor, centers: Tensor) -> Tensor:
    """Return the number of each frame's nearest center, (T,)."""
    return torch.cdist(center(features), centers).argmin(1)


def resynthesize(wave: Tensor, form: str, centers: Tensor) -> Tensor:
    """Return the sound that is made of a form of a wave.

    "recording", "spectrum" with guessed phases, "80 bands" or another number, or "units", whose
    frames are the centers of 20 bands, with the recording's own mean of each band.
    """
    if form == "recording":
        return wave
    if form == "spectrum":
        power = power_spectrum(frames(wave.double(), WINDOW, HOP) * hann(WINDOW), N_FFT)
        return griffin_lim(power, WINDOW, HOP)
    if form == "units":
        features = log_mel(wave, RATE, 20)
        return invert_mel(centers[assign_units(features, centers)] + features.mean(0), RATE)
    return invert_mel(log_mel(wave, RATE, int(form.split()[0])), RATE)


def pool(features: Tensor, n: int = 10) -> Array:
    """Return the mean of features (T, d) over each of n stretches of time, as one vector (n d,)."""
    pooled: Array = F.adaptive_avg_pool1d(features.float().T[None], n)[0].T.flatten().numpy()
    return pooled


def pool_units(features: Tensor, centers: Tensor) -> Array:
    """Return how often each unit occurs in each stretch of time, as one vector."""
    return pool(F.one_hot(assign_units(features, centers), len(centers)))


def nearest_centroid(
    vectors: Array, labels: Array, groups: Array, queries: Array | None = None
) -> Array:
    """Return whether each recording is nearest to the centroid of its label, 0 or 1, (N,).

    Centroids are means of `vectors` (N, d) over the other groups than the recording's. `queries`
    are the vectors to classify, where they differ.
    """
    hits, queries = np.zeros(len(labels)), vectors if queries is None else queries
    for group in {*groups.tolist()}:
        test, train = groups == group, groups != group
        names = np.unique(labels[train])
        means = np.stack([vectors[train & (labels == name)].mean(0) for name in names])
        distances = (means**2).sum(1) - 2 * queries[test] @ means.T  # but for the query's length
        hits[test] = names[distances.argmin(1)] == labels[test]
    return hits


def nearest_centroid_of_units(
    features: Sequence[Tensor], labels: Array, groups: Array, n: int = 50, seed: int = 0
) -> Array:
    """Return the same for n units that are fitted without the recording's group."""
    hits = np.zeros(len(labels))
    for group in sorted({*groups.tolist()}):
        others = [x for x, g in zip(features, groups, strict=True) if g != group]
        centers, test = fit_units(others, n, seed), groups == group
        vectors = np.stack([pool_units(x, centers) for x in features])
        hits[test] = nearest_centroid(vectors, labels, groups)[test]
    return hits


def accuracy_by(groups: Array, hits: Array) -> Array:
    """Return the accuracy (%) of each group, in their order."""
    return np.array([100 * hits[groups == one].mean() for one in sorted({*groups.tolist()})])

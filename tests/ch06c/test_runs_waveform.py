"""Forms of recordings for page 6c.1: features, units, sound again, and the nearest centroid."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from deepdive_book.ch06c.runs import waveform
from deepdive_book.ch06c.runs.waveform import RATE


@pytest.fixture(scope="module", autouse=True)
def generated() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPDIVE_PROFILE", "ci")
        yield


def test_forms_of_a_recording_have_the_same_frames() -> None:
    n = len(waveform.load_recordings())
    spectra, bands, cepstra = waveform.log_spectra(), waveform.mel_bands(40), waveform.cepstra()
    assert len(spectra) == len(bands) == len(cepstra) == n
    assert [(len(x), x.shape[1]) for x in spectra] == [(len(x), 129) for x in bands]
    assert [x.shape for x in cepstra] == [(len(x), 13) for x in bands]


def test_a_loud_recording_equals_a_soft_one_once_centered() -> None:
    wave = torch.from_numpy(waveform.load_recordings().waves[0])
    loud, soft = (waveform.mel_bands_at(wave * by, RATE).exp() for by in (1.0, 0.5))
    torch.testing.assert_close(loud, 4 * soft, rtol=0.01, atol=1e-6)
    x = waveform.mel_bands(20)[0]
    torch.testing.assert_close(waveform.center(x + 3.0), waveform.center(x), atol=1e-4, rtol=0)


def test_the_wrong_rate_gives_fewer_frames() -> None:
    wave = waveform.load_recordings().waves[0]
    right, wrong = (len(waveform.mel_bands_at(wave, rate)) for rate in (RATE, 2 * RATE))
    assert right == len(waveform.mel_bands(20)[0])
    assert abs(wrong - right / 2) <= 2


def test_units_are_the_nearest_centers() -> None:
    features = waveform.mel_bands(20)[:30]
    centers = waveform.fit_units(features, n=8)
    units = waveform.assign_units(features[0], centers)
    assert centers.shape == (8, 20)
    distances = (waveform.center(features[0])[:, None] - centers).square().sum(-1)
    assert torch.equal(units, distances.argmin(1))
    assert torch.equal(waveform.fit_units(features, n=8), centers)
    assert not torch.equal(waveform.fit_units(features, n=8, seed=1), centers)


@pytest.mark.parametrize("form", ["recording", "spectrum", "80 bands", "10 bands", "units"])
def test_each_form_is_made_into_sound(form: str) -> None:
    wave = torch.from_numpy(waveform.load_recordings().waves[0])
    centers = waveform.fit_units(waveform.mel_bands(20)[:30], n=8)
    again = waveform.resynthesize(wave, form, centers)
    assert abs(len(again) - len(wave)) <= waveform.WINDOW
    assert float(again.abs().max()) > 0
    assert torch.equal(again, wave) == (form == "recording")


def test_pooling_averages_stretches_of_time() -> None:
    features = torch.tensor([[1.0, 10], [3, 20], [5, 30], [7, 40]])
    assert waveform.pool(features, 2).tolist() == [2, 15, 6, 35]
    centers = torch.tensor([[-1.0], [1.0]])
    counts = waveform.pool_units(torch.tensor([[0.0]] * 10 + [[4.0]] * 10), centers)
    assert counts.tolist() == [1, 0] * 5 + [0, 1] * 5


def test_a_recording_is_compared_with_other_groups_only() -> None:
    vectors = np.array([[0.0], [4.0], [1.0], [5.0], [9.0], [8.0]])
    labels = np.array(["a", "b", "a", "b", "a", "b"])
    groups = np.array([0, 0, 1, 1, 2, 2])
    # Centroids of a and b without group 0: 5 and 6.5; without 1: 4.5 and 6; without 2: 0.5 and 4.5.
    assert waveform.nearest_centroid(vectors, labels, groups).tolist() == [1, 0, 1, 0, 0, 1]
    found = waveform.nearest_centroid(vectors, labels, groups, queries=vectors[::-1])
    assert found.tolist() == [0, 1, 1, 0, 0, 0]


def test_units_are_fitted_without_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    features = waveform.mel_bands(20)[:12]
    labels, groups = np.array(["a", "b"] * 6), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    fitted = []

    def fit(some: list[torch.Tensor], n: int, seed: int) -> torch.Tensor:
        fitted.append([id(x) for x in some])
        return torch.cat([waveform.center(x) for x in some])[:n]

    monkeypatch.setattr(waveform, "fit_units", fit)
    hits = waveform.nearest_centroid_of_units(features, labels, groups, n=4)
    assert {*hits.tolist()} <= {0.0, 1.0}
    ids = [id(x) for x in features]
    assert fitted == [ids[4:], ids[:4] + ids[8:], ids[:8]]


def test_accuracy_of_each_group_in_order() -> None:
    groups, hits = np.array(["b", "a", "b", "a"]), np.array([1.0, 0, 0, 0])
    assert waveform.accuracy_by(groups, hits).tolist() == [0, 50]

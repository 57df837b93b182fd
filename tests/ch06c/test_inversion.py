"""A wave from features: what was kept comes back."""

from __future__ import annotations

import pytest
import torch

from deepdive.audio.mel import frames, hann, log_mel, mel_filters, power_spectrum
from deepdive_book.ch06c.inversion import griffin_lim, invert_mel, mel_power, overlapped
from deepdive_book.data.synthetic_speech import voices


def speech() -> torch.Tensor:
    return torch.from_numpy(voices(1, 5, length=1).waves[0]).double()


def test_overlapped_frames_give_the_wave_back() -> None:
    wave, window = speech(), hann(200)
    again = overlapped(frames(wave, 200, 80) * window, window, 80)
    inner = slice(80, len(again) - 80)
    assert torch.allclose(again[inner], wave[: len(again)][inner], atol=1e-10)


def test_a_spectrum_has_the_mel_values_that_were_asked_for() -> None:
    filters = mel_filters(20, 256, 8000, low=20)
    power = power_spectrum(frames(speech(), 200, 80) * hann(200), 256)
    wanted = power @ filters
    found = mel_power(wanted, filters, 200)
    assert float(found.min()) >= 0
    assert float((found @ filters - wanted).norm() / wanted.norm()) < 0.01
    early = mel_power(wanted, filters, 5)
    assert (found @ filters - wanted).norm() < (early @ filters - wanted).norm()


def test_more_turns_bring_the_spectrum_nearer() -> None:
    power = power_spectrum(frames(speech(), 200, 80) * hann(200), 256)

    def away(turns: int) -> float:
        wave = griffin_lim(power, 200, 80, turns)
        again = power_spectrum(frames(wave, 200, 80) * hann(200), 256).sqrt()
        return float((again - power.sqrt()).norm() / power.norm().sqrt() ** 2**0.5)

    errors = [away(turns) for turns in (0, 2, 8, 32)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.5 * errors[0]


@pytest.mark.parametrize("n_mels", [10, 20, 40])
def test_a_wave_of_features_has_these_features(n_mels: int) -> None:
    wave = speech()
    features = log_mel(wave, 8000, n_mels)
    again = invert_mel(features, 8000)
    assert again.dtype == torch.float32
    assert float(again.abs().max()) <= 1
    loud = features > features.max() - 6  # what can be heard beside the loudest
    away = (log_mel(again, 8000, n_mels) - features[: len(again)]).abs()[loud]
    assert float(away.mean()) < 0.35  # in natural logarithms of power: 1.5 dB
    assert torch.equal(again, invert_mel(features, 8000))

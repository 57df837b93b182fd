"""Masks, speed and noise do what they say, measured."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Generator, Tensor

from deepdive.audio import AudioError
from deepdive.audio.augment import SPEEDS, add_noise, change_speed, spec_augment
from deepdive.audio.mel import power_spectrum


def tone(hertz: float = 440, seconds: float = 1.0, rate: int = 8000) -> Tensor:
    return 0.3 * torch.sin(2 * math.pi * hertz * torch.arange(int(seconds * rate)) / rate).double()


@pytest.mark.parametrize("decibels", [20.0, 10.0, 0.0, -5.0])
@pytest.mark.parametrize("noise", [None, "short", "long"])
def test_the_noise_is_as_loud_as_was_asked(decibels: float, noise: str | None) -> None:
    wave, lot = tone(), Generator().manual_seed(1)
    room = {None: None, "short": torch.randn(3001), "long": 7 * torch.randn(50_000)}[noise]
    found = add_noise(wave, decibels, room, lot)
    hum = found.double() - wave
    measured = 10 * math.log10(float((wave**2).mean() / (hum**2).mean()))
    assert measured == pytest.approx(decibels, abs=0.01)
    assert found.shape == wave.shape


def test_what_has_no_ratio_is_refused() -> None:
    with pytest.raises(AudioError, match="wave: silent"):
        add_noise(torch.zeros(100), 10)
    with pytest.raises(AudioError, match="noise: silent"):
        add_noise(tone(), 10, torch.zeros(100))
    with pytest.raises(AudioError, match="decibels: nan"):
        add_noise(tone(), math.nan)


@pytest.mark.parametrize("factor", [*SPEEDS, 0.5, 2.0])
def test_a_faster_wave_is_shorter_and_higher(factor: float) -> None:
    found = change_speed(tone(440), factor)
    assert len(found) == pytest.approx(8000 / factor, abs=1)
    power = power_spectrum(found[1000 : 1000 + 2048].double()[None] * torch.hann_window(2048))[0]
    assert int(power.argmax()) * 8000 / 2048 == pytest.approx(440 * factor, abs=4)
    with pytest.raises(AudioError, match="factor: 0"):
        change_speed(tone(), 0)


def changed(seed: int, **settings: float) -> tuple[Tensor, Tensor]:
    features = 1 + torch.rand(100, 40, generator=Generator().manual_seed(7))
    found = spec_augment(features, generator=Generator().manual_seed(seed), **settings)
    return features, found != features


def test_masks_are_whole_bands_and_whole_runs_of_frames() -> None:
    shares = []
    for seed in range(300):
        _, masked = changed(seed, bands=1, band_width=8, times=0)
        bands = masked.all(0)
        assert torch.equal(masked, bands.expand(100, -1))
        places = bands.nonzero()[:, 0]
        assert len(places) <= 8
        assert not len(places) or int(places[-1] - places[0]) == len(places) - 1  # one run
        shares.append(len(places))
    assert sum(shares) / 300 == pytest.approx(4, abs=0.4)  # each width of 0 to 8 as likely
    assert {*shares} == {*range(9)}


def test_a_run_of_frames_covers_at_most_its_share() -> None:
    longest = 0
    for seed in range(200):
        _, masked = changed(seed, bands=0, times=1, time_width=50, share=0.2)
        longest = max(longest, int(masked.all(1).sum()))
    assert longest == 20
    _, masked = changed(0, bands=0, times=0)
    assert not masked.any()


def test_a_mask_is_the_mean_and_the_rest_is_left_alone() -> None:
    features = torch.rand(50, 20)
    found = spec_augment(features, bands=2, times=2, generator=Generator().manual_seed(3))
    masked = found != features
    assert masked.any()
    assert torch.allclose(found[masked], features.mean())
    with pytest.raises(AudioError, match=r"share, band_width: 0\.2, 30"):
        spec_augment(features, band_width=30)
    with pytest.raises(AudioError, match="share, band_width: 2, 8"):
        spec_augment(features, share=2)

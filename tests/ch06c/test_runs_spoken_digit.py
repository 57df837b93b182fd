"""Changes of the sound for page 6c.6, and what is correct after them."""

from __future__ import annotations

import numpy as np
import torch

from deepdive_book.ch06c.runs.spoken_digit import changes, is_correct
from deepdive_book.ch06c.toys.spoken_digits import TARGETS, spoken_digits
from deepdive_book.data.synthetic_speech import voices


def test_each_change_does_what_its_name_says() -> None:
    wave = torch.from_numpy(voices(1, seed=2).waves[0])
    found = {name: torch.as_tensor(change(wave)) for name, change in changes().items()}
    assert torch.equal(found["as recorded"], wave)
    for factor in (0.7, 1.4, 1.7):
        length = len(found[f"played {factor} times as fast"])
        assert abs(length - len(wave) / factor) <= 2
    for snr in (20, 10, 0):
        noise = found[f"in noise, {snr} dB"] - wave
        measured = 10 * torch.log10(wave.square().mean() / noise.square().mean())
        assert abs(float(measured) - snr) < 0.1


def test_noise_follows_the_seed() -> None:
    wave = voices(1, seed=2).waves[0]
    one, two, other = (torch.as_tensor(changes(seed)["in noise, 0 dB"](wave)) for seed in (0, 0, 1))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_a_recording_is_correct_where_the_likeliest_digit_is_its_word() -> None:
    spoken = voices(8, seed=2)
    model = spoken_digits().model
    found = is_correct(model, spoken, lambda wave: wave)
    assert found.shape == (8,)
    assert found.dtype == np.bool_
    assert {*spoken.words} <= {*TARGETS}
    silent = is_correct(model, spoken, lambda wave: 0 * wave + 1e-3)
    assert len({word for word, one in zip(spoken.words, silent, strict=True) if one}) <= 1

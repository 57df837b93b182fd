"""A moment of a recording: its loudest frequency and its fullest band, by keys and pointer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from browser import Reader

from deepdive.audio.mel import frames, hann, log_mel, power_spectrum
from deepdive_book.ch06c.figures.spectrogram_explorer import LOUD, Spoken, spectrogram_explorer
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit.markup import Html

VOICES = voices(3, seed=2)
WAVES = [torch.from_numpy(wave) for wave in VOICES.waves]


def spoken() -> list[Spoken]:
    return [Spoken(f"{i} <{word}>", wave, 8000)
            for i, (word, wave) in enumerate(zip(VOICES.words, WAVES, strict=True))]  # fmt: skip


def picture() -> Html:
    return spectrogram_explorer(spoken(), n_mels=20)


def expected(wave: torch.Tensor, at: int) -> str:
    """What is said of a moment, measured anew."""
    power = power_spectrum(frames(wave.double(), 200, 80) * hann(200), 256)[at]
    band = int(log_mel(wave, 8000, 20)[at].argmax()) + 1
    top = int(float(power.argmax()) * 31.25 + 0.5)
    return f"Loudest at {top} Hz; the fullest band is number {band},"


def test_the_moment_follows_keys_and_pointer(reader: Reader) -> None:
    page = reader.open(picture().html)
    told, drawing = page.locator("[role=status]"), page.locator(".living-drawing")
    for i, wave in enumerate(WAVES):
        page.locator("select").select_option(index=i)
        at = round(0.4 * (len(frames(wave, 200, 80)) - 1))
        drawing.focus()
        for key, by in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
            page.keyboard.press(key)
            text = told.inner_text()
            assert text.startswith(
                f"From {10 * (at + by)} ms on, 25 ms: 200 numbers of the wave, 20"
            )
            assert expected(wave, at + by) in text
    box = drawing.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 40)
    page.mouse.down()
    page.mouse.up()
    assert told.inner_text().startswith("From 0 ms on")
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 40)
    last = len(frames(WAVES[2], 200, 80)) - 1
    assert told.inner_text().startswith(f"From {10 * last} ms on")
    assert not reader.complaints
    assert not [url for url in reader.requests if not url.startswith("http://book.test/")]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="all of one rate"):
        spectrogram_explorer([Spoken("a", WAVES[0], 8000), Spoken("b", WAVES[0], 16000)])
    with pytest.raises(ValueError, match="expected one at least"):
        spectrogram_explorer([])
    silence = spectrogram_explorer([Spoken("nothing", np.zeros(4000, np.float32) + 1e-9, 8000)])
    assert "Loudest" in silence.plain or "nothing" in silence.plain
    assert LOUD > 5

"""Players hold their recordings, the listening test counts, a moment of a recording is told."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest
import torch
from browser import DESK, PHONE, Reader, Size

from deepdive.audio.files import read, wav_bytes
from deepdive.audio.mel import frames, hann, log_mel, power_spectrum
from deepdive.data.voices import voices
from deepdive.page.sound import Hidden, listening, players, recorder
from deepdive.page.spectrum_slices import LOUD, Spoken, spectrum_slices

VOICES = voices(3, seed=2)
WAVES = [torch.from_numpy(wave) for wave in VOICES.waves]


def spoken() -> list[Spoken]:
    return [Spoken(f"{i} <{word}>", wave, 8000)
            for i, (word, wave) in enumerate(zip(VOICES.words, WAVES, strict=True))]  # fmt: skip


def test_a_player_holds_its_recording() -> None:
    html = players([("one <b>", WAVES[0]), ("two", WAVES[1])], 8000, "Generated.").html
    held = re.findall(r'src="data:audio/wav;base64,([^"]+)"', html)
    assert len(held) == 2
    for data, wave in zip(held, WAVES, strict=False):
        assert torch.allclose(read(base64.b64decode(data), 8000), wave, atol=1e-4)
    assert "one &lt;b&gt;" in html
    with pytest.raises(ValueError, match="came none"):
        players([], 8000)


def test_what_was_understood_is_counted_by_kind(reader: Reader) -> None:
    hidden = [Hidden("80 bands", WAVES[0], "ONE"), Hidden("5 bands", WAVES[1], "TWO"),
              Hidden("80 bands", WAVES[2], "SIX")]  # fmt: skip
    page = reader.open(listening(hidden, 8000, ["ONE", "TWO", "SIX"]).html, PHONE)
    told, choices = page.locator("[role=status]"), page.locator("select")
    assert told.inner_text() == ""
    assert "ONE, 80 bands" not in page.inner_text("body"), "the answer is hidden"
    choices.nth(0).select_option("ONE")
    choices.nth(1).select_option("SIX")
    assert told.inner_text() == "You understood 1 of 1 with 80 bands; 0 of 1 with 5 bands."
    assert page.locator("output").nth(1).inner_text() == "it says TWO (5 bands)"
    assert choices.nth(1).is_disabled()
    choices.nth(2).select_option("SIX")
    assert told.inner_text() == "You understood 2 of 2 with 80 bands; 0 of 1 with 5 bands."
    assert not reader.complaints
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    with pytest.raises(ValueError, match="expected recordings of words"):
        listening(hidden, 8000, ["ONE"])


REFUSED = """() => Object.defineProperty(navigator, "mediaDevices", { configurable: true,
  value: { getUserMedia: async () => { throw new DOMException("", "NotFoundError"); } } })"""
SPOKEN = """data => {
  Object.defineProperty(navigator, "mediaDevices", { configurable: true,
    value: { getUserMedia: async () => ({ getTracks: () => [{ stop() {} }] }) } });
  window.MediaRecorder = class {
    mimeType = "audio/wav";
    start() {}
    stop() { this.ondataavailable({ data: new Blob([Uint8Array.from(data)]) }); this.onstop(); }
  };
}"""
SAVED = """async () => [...new Uint8Array(
  await (await fetch(document.querySelector("a").href)).arrayBuffer())]"""


def test_what_is_recorded_can_be_saved_and_read(reader: Reader) -> None:
    page = reader.open(recorder(8000).html, PHONE)
    button, told = page.locator("button"), page.locator("[role=status]")
    assert not page.locator("audio, a").evaluate_all("all => all.some(x => x.checkVisibility())")
    page.evaluate(REFUSED)
    button.click()
    page.wait_for_function("document.querySelector('[role=status]').textContent")
    assert told.inner_text().startswith("The microphone cannot be used here (NotFoundError)")
    page.evaluate(SPOKEN, list(wav_bytes(WAVES[0], 8000)))
    button.click()
    page.wait_for_function("document.querySelector('button').textContent === 'stop'")
    button.click()
    page.locator("a").wait_for(state="visible")
    saved = read(bytes(page.evaluate(SAVED)), 8000)
    seconds = len(WAVES[0]) / 8000
    assert len(saved) == pytest.approx(len(WAVES[0]), abs=2)
    assert told.inner_text() == f"{seconds:.1f} seconds. Listen, save it, and name the file."
    alike = torch.corrcoef(torch.stack([saved[: len(WAVES[0]) - 2], WAVES[0][: len(saved)][:-2]]))
    assert float(alike[0, 1]) > 0.95, "the browser draws the samples anew, twice"
    assert not reader.complaints
    assert "button" in recorder(8000).html
    assert "recorder" in recorder(8000).plain


def expected(wave: torch.Tensor, at: int) -> str:
    """What is said of a moment, measured anew."""
    power = power_spectrum(frames(wave.double(), 200, 80) * hann(200), 256)[at]
    band = int(log_mel(wave, 8000, 20)[at].argmax()) + 1
    top = int(float(power.argmax()) * 31.25 + 0.5)
    return f"Loudest at {top} Hz; the fullest band is number {band},"


def test_the_moment_follows_keys_and_pointer(reader: Reader) -> None:
    page = reader.open(spectrum_slices(spoken(), n_mels=20).html)
    told, drawing = page.locator("[role=status]"), page.locator(".ss-all")
    for i, wave in enumerate(WAVES):
        page.locator("select").select_option(str(i))
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


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits(reader: Reader, size: Size) -> None:
    page = reader.open(spectrum_slices(spoken()).html, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_scripts_the_first_moment_stands_there() -> None:
    html = spectrum_slices(spoken(), start=0.5).html
    dead = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    at = round(0.5 * (len(frames(WAVES[0], 200, 80)) - 1))
    assert expected(WAVES[0], at) in dead
    with pytest.raises(ValueError, match="all of one rate"):
        spectrum_slices([Spoken("a", WAVES[0], 8000), Spoken("b", WAVES[0], 16000)])
    with pytest.raises(ValueError, match="expected one at least"):
        spectrum_slices([])
    silence = spectrum_slices([Spoken("nothing", np.zeros(4000, np.float32) + 1e-9, 8000)])
    assert "Loudest" in silence.plain or "nothing" in silence.plain
    assert LOUD > 5

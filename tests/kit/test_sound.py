"""Players hold their recordings, the listening test counts, a moment of a recording is told."""

from __future__ import annotations

import base64
import re

import pytest
import torch
from browser import PHONE, Reader

from deepdive.audio.files import read, wav_bytes
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit.markup import Html
from deepdive_book.kit.sound import Hidden, listening, players, recorder

VOICES = voices(3, seed=2)
WAVES = [torch.from_numpy(wave) for wave in VOICES.waves]


def picture() -> Html:
    return listening([Hidden("80 <b>", wave, "ONE") for wave in WAVES], 8000, ["ONE", "TWO", "SIX"])


def test_a_player_holds_its_recording() -> None:
    html = players([("one <b>", WAVES[0]), ("two", WAVES[1])], 8000, "Generated.").html
    held = re.findall(r'src="data:audio/wav;base64,([^"]+)"', html)
    assert len(held) == 2
    for data, wave in zip(held, WAVES, strict=False):
        assert torch.allclose(read(base64.b64decode(data), 8000), wave, atol=1e-4)
    assert "one &lt;b&gt;" in html
    with pytest.raises(ValueError, match="got none"):
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

"""The recogniser in the page: its features, its model, its guess are Python's, and its page does
what it says with samples, files, and no microphone.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from browser import Reader

from deepdive.audio.augment import add_noise
from deepdive.audio.files import resampled
from deepdive.audio.mel import log_mel
from deepdive.training.objectives.ctc import ctc_loss
from deepdive_book.ch06c.figures.spoken_digit_features import (
    AROUND,
    LOW,
    MOST,
    QUIET,
    prepared,
    stretch,
)
from deepdive_book.ch06c.figures.spoken_digit_recognizer import (
    read,
    rows_shown,
    spelled,
    spoken_digit_recognizer,
)
from deepdive_book.ch06c.toys import FOLDER
from deepdive_book.ch06c.toys.spoken_digits import (
    PHONES,
    SOUNDS,
    TARGETS,
    SpokenDigits,
    SpokenToy,
    spoken_digits,
)
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit.live import export
from deepdive_book.kit.markup import Html

LIVE = Path(export.__file__).parent
PARTS = ("forward.js", "masked.js", "speech.js")
WAVES = [torch.from_numpy(wave) for wave in voices(4, seed=3).waves]


def moved(seed: int = 0) -> SpokenDigits:
    """Every weight off its special values, in half precision."""
    torch.manual_seed(seed)
    model = SpokenDigits().eval()
    for p in model.parameters():
        p.data += 0.1 * torch.randn_like(p)
    model.units.copy_(torch.randn(model.units.shape))
    return model.half().float()


@cache
def toy() -> SpokenToy:
    return spoken_digits()


def picture() -> Html:
    samples = [(f"sample {i} <b>", wave) for i, wave in enumerate(WAVES)]
    return spoken_digit_recognizer(
        moved(), samples, phones=PHONES, targets=[*TARGETS.values()], names=[*TARGETS]
    )


def shown(model: Any = None, **settings: Any) -> str:
    samples = [(f"sample {i}", wave) for i, wave in enumerate(WAVES)]
    return spoken_digit_recognizer(
        model or moved(),
        samples,
        phones=PHONES,
        targets=[*TARGETS.values()],
        names=[*TARGETS],
        **settings,
    ).html


def in_page(reader: Reader, given: Any, run: str) -> Any:
    """What the code returns in the browser, as JSON."""
    code = "".join((LIVE / name).read_text("utf-8") for name in PARTS)
    data = json.dumps(given).replace("<", "\\u003c")
    body = (
        f'<script>{code}; const mark = "@".repeat(9), given = {data};'
        f"const answer = (() => {{ {run} }})();"
        "document.body.append(mark + JSON.stringify(answer) + mark);</script>"
    )
    return json.loads(reader.text(body).split("@" * 9)[1])


def spec_of(html: str) -> Any:
    found = re.search(r'\((\{"id": .*\})\)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])["spec"]


RUN = """
const { spec } = given, prepare = preparer(spec);
const hear = hearer(spec, cut(spec.shapes, halves(spec.weights)));
return given.waves.map(wave => {
  const { rows, first, last } = prepare(Float32Array.from(wave)), heard = hear(rows);
  return { first, last, rows: rows.map(r => [...r]), shares: heard.shares.map(r => [...r]),
    digits: [...heard.digits], units: heard.units };
});
"""


def variants() -> list[torch.Tensor]:
    """Clean, in noise, after a long silence, longer than what counts."""
    draw = torch.Generator().manual_seed(0)
    late = torch.cat([1e-4 * torch.randn(9000, generator=draw), WAVES[1]])
    long = torch.cat([WAVES[2], 0.5 * WAVES[3], WAVES[0], WAVES[1]])
    return [WAVES[0], add_noise(WAVES[0], 10, generator=draw), late, long]


@pytest.mark.parametrize("trained", [False, True])
def test_the_page_computes_what_pytorch_does(reader: Reader, trained: bool) -> None:
    model = toy().model if trained else moved()
    given = {"spec": spec_of(shown(model)), "waves": [w.tolist() for w in variants()]}
    for wave, told in zip(variants(), in_page(reader, given, RUN), strict=True):
        assert (told["first"], told["last"]) == stretch(log_mel(wave, 8000, 24, low=LOW))
        heard = read(model, wave)
        for name, wanted in (("rows", heard.features), ("shares", heard.shares),
                             ("digits", heard.digits)):  # fmt: skip
            found = torch.tensor(told[name])
            assert found.shape == wanted.shape
            assert float((found - wanted).abs().max()) < 1e-3, name
        assert np.mean(np.array(told["units"]) == heard.units.numpy()) > 0.99


def whole_proof(reader: Reader) -> None:
    test_the_page_computes_what_pytorch_does(reader, False)


BROKEN = {
    "a window of another length": ("n / length)) / 2", "n / (length - 1))) / 2"),
    "bands from 0 Hz": ("const from = toMel(low)", "const from = toMel(0)"),
    "one row late": ("wide.set(rows[i * step + k]", "wide.set(rows[Math.max(0, i * step + k - 1)]"),
    "repeats skip their blank": ("z && z !== states[s - 2]", "z"),
    "no second way in": ("s > 0 ? alpha[s - 1] : -Infinity,", "-Infinity,"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_is_seen(reader: Reader, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proofs above and below are red with a fault in the page's arithmetic."""
    right, wrong = BROKEN[name]
    whole = Path.read_text

    def with_fault(path: Path, *args: Any, **settings: Any) -> str:
        text = whole(path, *args, **settings)
        if path.name == "speech.js":
            assert right in text
            text = text.replace(right, wrong)
        return text

    monkeypatch.setattr(Path, "read_text", with_fault)
    proof = test_ctc_in_the_page_is_ctc if "skip" in name else whole_proof
    with pytest.raises(AssertionError):
        proof(reader)


def test_ctc_in_the_page_is_ctc(reader: Reader) -> None:
    """Also for texts that repeat, and for as many rows as symbols."""
    logits = torch.randn(9, 6, generator=torch.Generator().manual_seed(2)).double()
    texts = [[1], [1, 1], [2, 2, 2], [1, 2, 3, 4, 5], [5, 4, 4, 1]]
    run = "return given.texts.map(text => textScore(given.logs, text));"
    found = in_page(reader, {"logs": logits.log_softmax(-1).tolist(), "texts": texts}, run)
    for text, score in zip(texts, found, strict=True):
        n = torch.tensor([len(text)])
        wanted = -ctc_loss(logits[None], torch.tensor([9]), torch.tensor([text]), n)[0]
        assert score == pytest.approx(float(wanted), abs=1e-6)


@pytest.mark.parametrize("rate", [44100, 48000, 16000, 8000])
def test_another_rate_is_the_same_sound(reader: Reader, rate: int) -> None:
    wave = resampled(WAVES[0], 8000, rate)
    run = "return [...resampled(Float32Array.from(given.wave), given.rate, 8000)];"
    found = torch.tensor(in_page(reader, {"wave": wave.tolist(), "rate": rate}, run))
    n = min(len(found), len(WAVES[0]))
    away = (prepared(found[:n]) - prepared(WAVES[0][:n])).abs()
    # near 4 kHz each filter ends in its own way
    assert float(away[:, :20].mean()) < 0.1


def test_what_is_quiet_or_far_from_the_digit_is_left_out() -> None:
    draw = torch.Generator().manual_seed(1)
    hum = 1e-3 * torch.randn(8000, generator=draw)
    wave = torch.cat([hum, WAVES[1], hum])
    mel = log_mel(wave, 8000, 24, low=LOW)
    first, last = stretch(mel)
    power = mel.double().exp().sum(1)
    assert 80 < first < last < 100 + len(WAVES[1]) // 80 + AROUND
    assert (power[:first] < power.max() * np.exp(-QUIET)).all()
    assert last - first <= MOST
    assert torch.allclose(prepared(3 * WAVES[1]), prepared(WAVES[1]), atol=0.02)
    assert torch.allclose(prepared(wave).mean(0), torch.zeros(24), atol=1e-5)


def test_padding_changes_nothing() -> None:
    """In a batch a short utterance says what it says alone."""
    model, xs = moved(), [prepared(wave) for wave in WAVES[:3]]
    lengths = torch.tensor([len(x) for x in xs])
    with torch.no_grad():
        both = model(torch.nn.utils.rnn.pad_sequence(xs, batch_first=True), lengths)
        for x, rows in zip(xs, both, strict=True):
            alone = model(x[None], torch.tensor([len(x)]))[0]
            assert torch.allclose(rows[: len(alone)], alone, atol=1e-4)


def test_a_digit_is_the_sum_over_its_paths_beside_the_others() -> None:
    model, logits = moved(), torch.full((12, len(PHONES)), -5.0)
    for t, phone in enumerate(["-", "S", "S", "EH", "V", "-", "AH", "N"]):
        logits[t, PHONES.index(phone)] = 5.0
    logits[8:, 0] = 5.0
    shares = model.digits(logits)
    assert float(shares.sum()) == pytest.approx(1)
    assert [*SOUNDS][int(shares.argmax())] == "SEVEN"
    assert spelled(logits.softmax(-1), PHONES) == ["S", "EH", "V", "AH", "N"]
    assert [PHONES[p] for p in rows_shown(logits.softmax(-1))] == ["S", "EH", "V", "AH", "N"]
    assert float(model.digits(logits[:2]).sum()) == pytest.approx(1)  # too short for most


def test_the_toy_is_what_its_script_made() -> None:
    assert (FOLDER / "spoken_digits.safetensors").stat().st_size < 300_000
    digest = hashlib.sha256((FOLDER / "spoken_digits.safetensors").read_bytes()).hexdigest()
    assert digest == "ac9021cd9735f1dd7e04fe9c2d3f85b819b1d576638cfbcefecf8a334053d028"
    assert toy().recordings == 3000
    assert set(toy().others) == {"george", "jackson", "lucas", "nicolas", "theo", "yweweler"}
    assert min(toy().others.values()) > 0.3


@pytest.mark.data("fsdd")
def test_the_toy_hears_those_from_whom_it_learned() -> None:
    from deepdive.data.speech import fsdd

    some = fsdd().only(range(0, 3000, 25))
    right = [[*TARGETS][int(read(toy().model, wave).digits.argmax())] == word
             for wave, word in zip(some.waves, some.words, strict=True)]  # fmt: skip
    assert np.mean(right) > 0.9


def heard_in(page: Any) -> str:
    return page.locator("[role=status]").inner_text()


def test_samples_and_files_are_heard(reader: Reader) -> None:
    model = moved()
    page = reader.open(shown(model))
    for i, wave in enumerate(WAVES):
        page.locator("select").select_option(index=i)
        digits = read(model, wave).digits
        assert heard_in(page).startswith(f"It hears {[*TARGETS][int(digits.argmax())].lower()}, ")
        assert page.locator(".speech-units rect").count() == len(prepared(wave))
    file = io.BytesIO()
    soundfile.write(file, np.stack([resampled(WAVES[2], 8000, 44100)] * 2, 1), 44100, format="WAV")
    given = {"name": "mine.wav", "mimeType": "audio/wav", "buffer": file.getvalue()}
    before = heard_in(page)
    page.locator("input[type=file]").set_input_files(given)
    page.wait_for_function(
        "b => document.querySelector('[role=status]').textContent !== b", arg=before
    )
    best = [*TARGETS][int(read(model, WAVES[2]).digits.argmax())].lower()
    assert f"hears {best}" in heard_in(page) or f"next {best}" in heard_in(page)
    for name, data, said in (
        ("text.wav", b"no sound", "text.wav is no sound that this browser can read"),
        ("still.wav", wav(np.zeros(8000)), "The recording is silent"),
        ("long.wav", wav(np.zeros(30 * 8000)), "lasts 30 s, at most 20"),
        ("short.wav", wav(0.1 * np.ones(80)), "There is nothing to hear"),
    ):
        given = {"name": name, "mimeType": "audio/wav", "buffer": data}
        page.locator("input[type=file]").set_input_files(given)
        page.wait_for_function(
            "s => document.querySelector('[role=status]').textContent.includes(s)", arg=said
        )
    assert not reader.complaints


def wav(samples: np.ndarray) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, 8000, format="WAV")
    return file.getvalue()


REFUSE = """() => {
  const refuse = async () => { throw new DOMException("", "NotFoundError"); };
  if (!navigator.mediaDevices)
    Object.defineProperty(navigator, "mediaDevices", { value: {}, configurable: true });
  navigator.mediaDevices.getUserMedia = refuse;
}"""
SPOKEN = """data => {
  navigator.mediaDevices.getUserMedia = async () => ({ getTracks: () => [{ stop() {} }] });
  window.MediaRecorder = class {
    mimeType = "audio/wav";
    start() {}
    stop() { this.ondataavailable({ data: new Blob([Uint8Array.from(data)]) }); this.onstop(); }
  };
}"""


def test_what_is_said_is_heard_and_without_a_microphone_it_says_so(reader: Reader) -> None:
    model = moved()
    page = reader.open(shown(model))
    page.evaluate(REFUSE)
    speak = page.locator("[data-control=speak]")
    speak.click()
    page.wait_for_function(
        "document.querySelector('[role=status]').textContent.includes('cannot be used here')"
    )
    assert "(NotFoundError). Open a file, or take a sample." in heard_in(page)
    page.evaluate(SPOKEN, list(wav(WAVES[1].numpy())))
    speak.click()
    page.wait_for_function("document.querySelector('[data-control=speak]').textContent === 'stop'")
    speak.click()
    page.wait_for_function(
        "document.querySelector('[role=status]').textContent.startsWith('It hears')"
    )
    assert speak.inner_text() == "speak a digit"
    assert not reader.complaints


def test_what_does_not_fit_is_refused() -> None:
    model = moved()
    with pytest.raises(ValueError, match="got none"):
        spoken_digit_recognizer(
            model, [], phones=PHONES, targets=[*TARGETS.values()], names=[*TARGETS]
        )
    with pytest.raises(ValueError, match="at most 700"):
        spoken_digit_recognizer(model, [("long", torch.rand(400_000))], phones=PHONES,
                 targets=[*TARGETS.values()], names=[*TARGETS])  # fmt: skip

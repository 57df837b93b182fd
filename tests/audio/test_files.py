"""Recordings of every kind are read right, or refused with what to do."""

from __future__ import annotations

import io
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from deepdive.audio import AudioError
from deepdive.audio.files import pieces, read, resampled, wav_bytes

RATE = 16000


def tone(rate: int = RATE, seconds: float = 0.5, hertz: float = 440) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)


def written(path: Path, samples: np.ndarray, rate: int = RATE, kind: str = "PCM_16") -> Path:
    soundfile.write(path, samples, rate, subtype=kind)
    return path


@pytest.mark.parametrize(
    ("kind", "near"),
    [("PCM_U8", 1 / 128), ("PCM_16", 1e-4), ("PCM_24", 1e-6), ("PCM_32", 1e-7), ("FLOAT", 1e-7),
     ("DOUBLE", 1e-7), ("ULAW", 0.02)],
)  # fmt: skip
def test_each_kind_of_number(tmp_path: Path, kind: str, near: float) -> None:
    found = read(written(tmp_path / "a.wav", tone(), kind=kind))
    assert found.dtype == torch.float32
    assert np.abs(found.numpy() - tone()).max() <= near


@pytest.mark.parametrize("end", ["flac", "ogg"])
def test_other_files(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"a.{end}"
    soundfile.write(path, tone(), RATE)
    found = read(path).numpy()
    assert np.corrcoef(found[: len(tone())], tone())[0, 1] > 0.999


def test_two_channels_become_their_mean(tmp_path: Path) -> None:
    both = np.stack([tone(), tone(hertz=880)], 1)
    found = read(written(tmp_path / "a.wav", both, kind="DOUBLE"))
    assert np.abs(found.numpy() - both.mean(1)).max() < 1e-6


@pytest.mark.parametrize("rate", [8000, 11025, 22050, 44100, 48000])
def test_another_rate_is_the_same_tone(tmp_path: Path, rate: int) -> None:
    found = read(written(tmp_path / "a.wav", tone(rate), rate), RATE).numpy()
    assert len(found) == pytest.approx(RATE / 2, abs=1)
    inner = slice(500, 7500)
    assert np.abs(found[inner] - tone()[inner]).max() < 0.01


def test_what_the_lower_rate_cannot_hold_is_filtered_and_not_folded() -> None:
    high = torch.from_numpy(tone(16000, 1.0, 6000))
    assert float(resampled(high, 16000, 8000)[200:-200].abs().max()) < 0.01
    assert float(high[::2].abs().max()) > 0.4  # dropping samples would leave a tone of 2000 Hz


def test_bytes_and_open_files_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.wav", tone())
    data = path.read_bytes()
    assert torch.equal(read(data), read(path))
    assert torch.equal(read(io.BytesIO(data)), read(path))


def test_an_empty_recording_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.wav", np.zeros(0))
    with pytest.raises(AudioError, match=r"a\.wav: no samples: the recording is empty"):
        read(path)
    with pytest.raises(AudioError, match="no samples"):
        list(pieces(path))


def test_numbers_that_are_none_are_refused_and_placed(tmp_path: Path) -> None:
    samples = tone()
    samples[[4000, 5000]] = math.nan, math.inf
    path = written(tmp_path / "a.wav", samples, kind="FLOAT")
    with pytest.raises(AudioError, match=r"2 samples are NaN or infinite, from 0\.25 s on"):
        read(path)


@pytest.mark.parametrize("data", [b"", b"no sound at all", b"RIFF\x24\0\0\0WAVEfmt ", b"\0" * 5000])
def test_what_is_no_sound_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(data)
    with pytest.raises(AudioError, match=r"a\.wav: not a readable audio file|no samples"):
        read(path)
    with pytest.raises(AudioError, match=r"the recording: not a readable audio file|no samples"):
        read(data)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing.wav")


def test_an_hour_is_refused_by_name_and_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "hour.wav"
    with soundfile.SoundFile(path, "w", 8000, 1, "PCM_U8") as file:
        for _ in range(60):
            file.write(np.full(60 * 8000, 0.25))
    with pytest.raises(AudioError, match=r"3600 s, expected at most 120.*`pieces`"):
        read(path)
    found = [(len(piece), float(piece.mean())) for piece in pieces(path, 8000, seconds=700)]
    assert [n for n, _ in found] == [700 * 8000] * 5 + [100 * 8000]
    assert all(mean == pytest.approx(0.25, abs=0.01) for _, mean in found)


def test_a_page_s_player_gets_16_bits() -> None:
    data = wav_bytes(torch.tensor([0.0, 0.5, -1.0, 2.0]), 8000)
    assert read(data, 8000).tolist() == pytest.approx([0, 0.5, -1, 1], abs=1e-4)
    assert len(data) == 44 + 8
    with pytest.raises(AudioError, match="no samples"):
        wav_bytes(torch.zeros(0), 8000)


def test_without_the_library_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(AudioError, match=r"soundfile cannot be used .*pip install"):
        read(b"anything")


def recording(samples: object, rate: int = 16000, subtype: str = "FLOAT") -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.asarray(samples), rate, format="WAV", subtype=subtype)
    return file.getvalue()


def test_floats_in_the_range_of_16_bits_are_scaled() -> None:
    wave = np.sin(np.arange(1600) / 9).astype("float32")
    assert (read(recording(32768 * wave)) - read(recording(wave))).abs().max() < 1e-6
    assert float(read(recording(1.5 * wave)).max()) == 1, "a little too loud is cut, as before"
    with pytest.raises(AudioError, match="samples up to"):
        read(recording(1e7 * wave))


def test_channels_in_opposite_phase_are_not_silence() -> None:
    wave = 0.5 * np.sin(np.arange(1600) / 9).astype("float32")
    with pytest.warns(UserWarning, match="opposite phase"):
        found = read(recording(np.stack([wave, -wave], 1)))
    assert (found - torch.from_numpy(wave)).abs().max() < 1e-6


@pytest.mark.parametrize("rate", [300, 999_983, 2**31 - 1])
def test_a_rate_that_no_recording_has_is_refused(rate: int) -> None:
    given = bytearray(recording(np.zeros(16), subtype="PCM_16"))
    given[24:28] = rate.to_bytes(4, "little")
    with pytest.raises(AudioError, match="its header says"):
        read(bytes(given))


def test_rates_without_a_common_factor_need_no_large_filter() -> None:
    """47,999 to 16,000: a filter of 20 x 47,999 taps before; a thousandth off is not heard."""
    at = np.arange(47_999) / 47_999
    found = resampled(np.sin(2 * np.pi * 440 * at), 47_999, 16_000)
    assert abs(len(found) - 16_000) <= 16
    wanted = torch.sin(2 * torch.pi * 440 * torch.arange(len(found)) / 16_000)
    assert (found - wanted)[200:2000].abs().max() < 0.05


@pytest.mark.parametrize(
    ("head", "kind"), [(b"\x00\x00\x00\x20ftypM4A ", "MPEG-4"), (b"\x1aE\xdf\xa3" * 4, "WebM")]
)
def test_what_phones_save_comes_with_the_command_that_converts_it(
    tmp_path: Path, head: bytes, kind: str
) -> None:
    path = tmp_path / "voice.m4a"
    path.write_bytes(head + bytes(200))
    with pytest.raises(AudioError, match=rf"{kind}.*ffmpeg -i .*voice\.m4a recording\.wav"):
        read(path)

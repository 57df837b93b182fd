"""Read audio files of any format, resample, and write WAV for a page's player.

`read` returns one channel, float32 from -1 to 1, at the requested sampling rate, or raises an error
that says what to do. `pieces` reads longer recordings in chunks.
"""

from __future__ import annotations

import io
import warnings
import wave as wav
from collections.abc import Iterator
from fractions import Fraction
from os import PathLike
from types import ModuleType
from typing import IO, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deepdive.audio.errors import AudioError
from deepdive.audio.mel import to_waveform
from deepdive.core.checks import own_file, positive

Floats = NDArray[np.float32]
Source = str | PathLike[str] | IO[bytes] | bytes
MOST = 120.0  # the maximum length for `read`, in seconds
RATES = (1_000, 768_000)  # the allowed sampling rates in Hz, lowest and highest


def read(source: Source, rate: int = 16000, *, most: float = MOST) -> Tensor:
    """Return the recording as a wave (n,): channels averaged, resampled to `rate`.

    source  a path, an open binary file, or the bytes: WAV, FLAC, OGG, MP3, SPHERE and the other
            formats of libsndfile, of 8, 16, 24 or 32 bits or floats
    most    the maximum duration in seconds, against long waits by mistake
    Floats in the range of 16-bit integers are scaled by 1/32768. If two channels cancel in their
    mean (opposite phase), only the first one is used, with a warning.

    Raises AudioError for a file that is not audio, has no samples, is longer than `most`, has a
    sampling rate outside `RATES`, or samples that are NaN, infinite, or of unknown scale;
    FileNotFoundError if there is no file.
    """
    positive(rate=rate)
    with _opened(source) as file:
        seconds = file.frames / file.samplerate
        if seconds > most:
            raise AudioError(
                f"{_name(source)}: {seconds:.0f} s, expected at most {most:.0f}: cut it, "
                "give a larger `most`, or read it with `pieces`"
            )
        return _sound(file.read(dtype="float64", always_2d=True), file.samplerate, rate, source)


def pieces(source: Source, rate: int = 16000, *, seconds: float = 30.0) -> Iterator[Tensor]:
    """Yield the recording in chunks of `seconds` (the last one shorter), one in memory at a time.

    Each chunk is resampled separately: at its ends a few samples differ from `read`.
    Raises AudioError as `read` does, except for length.
    """
    positive(rate=rate)
    with _opened(source) as file:
        block = max(1, round(seconds * file.samplerate))
        if not file.frames:
            _sound(np.zeros((0, 1)), file.samplerate, rate, source)
        for samples in file.blocks(block, dtype="float64", always_2d=True):
            yield _sound(samples, file.samplerate, rate, source)


def _opened(source: Source) -> Any:
    library = _soundfile()
    given = io.BytesIO(source) if isinstance(source, bytes) else source
    if isinstance(given, str | PathLike):
        given = own_file(given, FileNotFoundError)
    try:
        file = library.SoundFile(given)
    except library.LibsndfileError as error:
        if _shortened(given):
            raise AudioError(
                f"{_name(source)}: NIST SPHERE, compressed with shorten, which is not supported: "
                "convert it with `sph2pipe -f wav OLD NEW` or `sox OLD NEW` and read that"
            ) from error
        raise AudioError(
            f"{_name(source)}: not a readable audio file ({error.error_string}); {_way(given)}"
        ) from error
    if not RATES[0] <= file.samplerate <= RATES[1]:
        found = f"{file.samplerate:,} samples per second"
        file.close()
        raise AudioError(
            f"{_name(source)}: its header says {found}, expected {RATES[0]:,} to {RATES[1]:,}: "
            "the header is wrong; write the file again with the correct rate"
        )
    return file


def _way(given: str | PathLike[str] | IO[bytes]) -> str:
    """Return how to convert an unreadable file: phones save MPEG-4 and WebM."""
    head = _head(given)
    if head[4:8] == b"ftyp" or head.startswith(b"\x1aE\xdf\xa3"):
        kind = "MPEG-4 (m4a, mp4)" if head[4:8] == b"ftyp" else "WebM or Matroska"
        name = given if isinstance(given, str | PathLike) else "OLD"
        return f"it is {kind}: convert it with `ffmpeg -i {name} recording.wav`"
    return "save it as WAV or FLAC"


def _head(given: str | PathLike[str] | IO[bytes]) -> bytes:
    """Return the first bytes of a file."""
    if isinstance(given, str | PathLike):
        with open(given, "rb") as file:
            return file.read(1024)
    given.seek(0)
    return given.read(1024)


def _shortened(given: str | PathLike[str] | IO[bytes]) -> bool:
    """Return whether a file's header is SPHERE's with shorten compression."""
    head = _head(given)
    return head.startswith(b"NIST_1A") and b"shorten" in head


def _soundfile() -> ModuleType:
    try:
        import soundfile
    except (ModuleNotFoundError, OSError) as error:
        raise AudioError(
            f"soundfile cannot be used ({error}): pip install 'deepdive[casestudies]', "
            "or soundfile alone"
        ) from error
    return soundfile


def _name(source: Source) -> str:
    return str(source) if isinstance(source, str | PathLike) else "the recording"


def _sound(samples: Any, given: int, rate: int, source: Source) -> Tensor:
    if not len(samples):
        raise AudioError(f"{_name(source)}: no samples: the recording is empty, record it again")
    if bad := int((~np.isfinite(samples)).sum()):
        first = int(np.flatnonzero(~np.isfinite(samples).all(1))[0]) / given
        raise AudioError(
            f"{_name(source)}: {bad} samples are NaN or infinite, from {first:.2f} s on: "
            "write the file again"
        )
    largest = float(np.abs(samples).max())
    if largest > 8:
        if largest > 32768:
            raise AudioError(
                f"{_name(source)}: samples up to {largest:,.0f}, expected floats from -1 to 1, or "
                "in the range of 16 bits: scale them and write the file again"
            )
        samples = samples / 32768
    mixed = samples.mean(1)
    if samples.shape[1] > 1 and np.abs(mixed).max() < 0.01 * np.abs(samples).max():
        warnings.warn(
            f"{_name(source)}: its channels cancel in their mean (opposite phase), so only the "
            "first one is read",
            stacklevel=3,
        )
        mixed = samples[:, 0]
    mono = torch.from_numpy(np.ascontiguousarray(mixed))
    return (mono.float() if given == rate else resampled(mono, given, rate)).clamp(-1, 1)


def resampled(wave: Any, given: int, wanted: int) -> Tensor:
    """Resample a wave (n,) from the rate `given` to `wanted`: (ceil(n wanted / given),).

    Frequencies above half of the lower rate are filtered out first to avoid aliasing.
    """
    positive(given=given, wanted=wanted)
    try:
        from scipy.signal import resample_poly
    except ModuleNotFoundError as error:
        raise AudioError(
            "scipy is not installed: pip install 'deepdive[casestudies]', or scipy alone"
        ) from error
    # The filter grows with both numbers: round the ratio to a denominator <= 1000.
    ratio = Fraction(wanted, given)
    if max(ratio.numerator, ratio.denominator) > 1000:
        ratio = ratio.limit_denominator(1000)
    found = resample_poly(to_waveform(wave).numpy(), ratio.numerator, ratio.denominator)
    return torch.from_numpy(np.ascontiguousarray(found)).float()


def wav_bytes(wave: Any, rate: int) -> bytes:
    """Return a one-channel 16-bit WAV file as bytes; samples are clipped to -1 to 1."""
    steps = (to_waveform(wave) * 32767).round().clamp(-32768, 32767).to(torch.int16)
    buffer = io.BytesIO()
    with wav.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(steps.numpy().astype("<i2").tobytes())
    return buffer.getvalue()

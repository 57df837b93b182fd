"""Transcribed speech: AN4 as cepstra (MFCCs), FSDD and LJ Speech as waveforms.

`Recordings` have waveforms, `Utterances` only features. Both have speaker labels, because a speech
recognizer is evaluated on unseen speakers: `held_out` splits by speaker. `join_recordings` joins
single digits into digit strings.
"""

from __future__ import annotations

import csv
import io
import tarfile
import wave
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from deepdive.data.errors import DataError
from deepdive.data.fetch import fetch
from deepdive.data.generated import whole

Floats = NDArray[np.float32]
DIGITS = ("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE")
FSDD_TEST = range(5)  # takes 0 to 4 of each digit and speaker are the test set, per its README


class Phone(NamedTuple):
    """A phone (speech sound) and its segment `wave[first:last]`."""

    name: str
    first: int
    last: int


Some = TypeVar("Some", bound="Utterances | Recordings")


def _checked(found: Utterances | Recordings, arrays: str) -> None:
    """Raise DataError unless every field has one value per utterance."""
    lengths = {f: len(getattr(found, f)) for f in (arrays, "words", "speakers", "names")}
    if len(set(lengths.values())) > 1 or not lengths[arrays]:
        raise DataError(f"{lengths}: expected equal counts, at least one")


def _only(found: Some, which: Iterable[int]) -> Some:
    indices = list(which)
    if not indices or not all(-len(found) <= i < len(found) for i in indices):
        raise DataError(f"which: got {indices[:5]}, expected indices of {len(found)} utterances")
    every = {f.name: getattr(found, f.name) for f in fields(found)}
    chosen: Any = {
        name: tuple(values[i] for i in indices)
        for name, values in every.items()
        if isinstance(values, tuple) and values
    }
    return replace(found, **chosen)


def _held_out(found: Some, speakers: Iterable[str]) -> tuple[Some, Some]:
    held, known = {*speakers}, {*found.speakers}
    if not held or not held < known:
        raise DataError(f"speakers: {sorted(held)}, expected some of {sorted(known)}, not all")
    indices = [i for i, speaker in enumerate(found.speakers) if speaker in held]
    others = [i for i, speaker in enumerate(found.speakers) if speaker not in held]
    return _only(found, others), _only(found, indices)


@dataclass(frozen=True)
class Utterances:
    """Acoustic features of utterances with transcripts.

    features  float32 (T, n) of each utterance, T frames
    words     the transcript, words separated by single spaces
    speakers  the speaker of each utterance
    names     the name of each utterance in its corpus
    Raises DataError if these differ in number.
    """

    features: tuple[Floats, ...]
    words: tuple[str, ...]
    speakers: tuple[str, ...]
    names: tuple[str, ...]
    source: str = "(your features)"

    def __post_init__(self) -> None:
        _checked(self, "features")

    def __len__(self) -> int:
        return len(self.features)

    def only(self, which: Iterable[int]) -> Utterances:
        """Return the utterances at these indices, in this order."""
        return _only(self, which)

    def held_out(self, speakers: Iterable[str]) -> tuple[Utterances, Utterances]:
        """Return the utterances of all other speakers, and those of `speakers`. Raises DataError if
        a speaker is unknown, or no other speaker remains.
        """
        return _held_out(self, speakers)


@dataclass(frozen=True)
class Recordings:
    """Waveforms of utterances with transcripts.

    waves  float32 (n,) from -1 to 1 of each recording, `rate` samples per second
    words, speakers, names  as for `Utterances`
    phones  the phones of each recording with their segments, if known; else ()
    Raises DataError if these differ in number.
    """

    waves: tuple[Floats, ...]
    rate: int
    words: tuple[str, ...]
    speakers: tuple[str, ...]
    names: tuple[str, ...]
    source: str = "(your recordings)"
    phones: tuple[tuple[Phone, ...], ...] = ()

    def __post_init__(self) -> None:
        _checked(self, "waves")
        whole("rate", self.rate, 1, None)
        if self.phones and len(self.phones) != len(self.waves):
            raise DataError(f"phones: of {len(self.phones)}, expected of {len(self.waves)} or none")

    def __len__(self) -> int:
        return len(self.waves)

    @property
    def seconds(self) -> float:
        """The total duration in seconds."""
        return sum(len(samples) for samples in self.waves) / self.rate

    def only(self, which: Iterable[int]) -> Recordings:
        """Return the recordings at these indices, in this order."""
        return _only(self, which)

    def held_out(self, speakers: Iterable[str]) -> tuple[Recordings, Recordings]:
        """Return the recordings of other speakers, and those of `speakers`, as in `Utterances`."""
        return _held_out(self, speakers)


def join_recordings(
    recordings: Recordings, n: int, length: int | tuple[int, int] = 4, *, gap: float = 0.1,
    seed: int = 0,
) -> Recordings:  # fmt: skip
    """Return n concatenations of recordings of one speaker each, sampled with replacement, such as
    digit strings.

    length  the number of recordings to join, or its minimum and maximum
    gap     seconds of silence between two. Raises DataError for numbers out of range.
    """
    least, most = (length, length) if isinstance(length, int) else length
    for name, value, low in (("n", n, 1), ("length", least, 1), ("length", most, least)):
        whole(name, value, low, None)
    if not 0 <= gap < 10:
        raise DataError(f"gap: got {gap}, expected seconds, at least 0 and below 10")
    people = sorted({*recordings.speakers})
    of = {who: [i for i, s in enumerate(recordings.speakers) if s == who] for who in people}
    rng = np.random.default_rng(seed)
    strings = []
    for _ in range(n):
        ids = of[people[int(rng.integers(len(people)))]]
        strings.append(
            [ids[int(i)] for i in rng.integers(len(ids), size=rng.integers(least, most + 1))]
        )
    made = [_string(recordings, indices, round(gap * recordings.rate)) for indices in strings]
    waves, phones = zip(*made, strict=True)
    return Recordings(
        waves,
        recordings.rate,
        tuple(" ".join(recordings.words[i] for i in indices) for indices in strings),
        tuple(recordings.speakers[indices[0]] for indices in strings),
        tuple("+".join(recordings.names[i] for i in indices) for indices in strings),
        f"{recordings.source}, joined into {n} strings",
        phones if recordings.phones else (),
    )


def _string(
    recordings: Recordings, places: Sequence[int], gap: int
) -> tuple[Floats, tuple[Phone, ...]]:
    segments: list[Floats] = []
    phones: list[Phone] = []
    start = 0
    for index in places:
        if segments:
            segments.append(np.zeros(gap, np.float32))
            start += gap
        if recordings.phones:
            phones += [Phone(p, start + a, start + b) for p, a, b in recordings.phones[index]]
        segments.append(recordings.waves[index])
        start += len(segments[-1])
    return np.concatenate(segments), tuple(phones)


def an4(part: str = "train") -> Utterances:
    """Return CMU's AN4: spelled names, addresses, dates and numbers. 13 mel cepstra per frame of
    10 ms; "train" (948 utterances, 42 minutes) or "test" (130, six minutes, other speakers). The
    transcripts are in capitals. Raises ValueError for another part.

    Source: Acero 1993.
    """
    if part not in ("train", "test"):
        raise ValueError(f"part: got {part!r}, expected train or test")
    table = fetch("an4_mfcc", "transcripts.tsv").read_text("utf-8").splitlines()
    rows = [row for row in csv.DictReader(table, delimiter="\t") if row["split"] == part]
    with np.load(fetch("an4_mfcc", "an4_mfcc.npz")) as packed:
        mfcc, offsets = packed["mfcc"].astype(np.float32), packed["offsets"]
    indices = [int(row["index"]) for row in rows]
    return Utterances(
        tuple(mfcc[offsets[i] : offsets[i + 1]] for i in indices),
        tuple(row["words"] for row in rows),
        tuple(row["speaker"] for row in rows),
        tuple(row["utterance"] for row in rows),
        f"an4_mfcc, {part} (real)",
    )


def an4_sounds() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return AN4's pronunciation dictionary: word -> pronunciations as ARPAbet phones."""
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for line in fetch("an4_mfcc", "an4.dic").read_text("utf-8").splitlines():
        word, *phones = line.split()
        word = word.partition("(")[0]
        found[word] = (*found.get(word, ()), tuple(phones))
    return found


def fsdd(part: str = "all") -> Recordings:
    """Return the Free Spoken Digit Dataset: six speakers, each digit fifty times, 8,000 samples per
    second.

    "test" is takes 0 to 4 (300 recordings), as in its README, "train" the others (2,700), with the
    same six speakers. For unseen speakers use `held_out` instead. The words are `DIGITS`. Raises
    ValueError for another part. Source: Jackson et al. 2018.
    """
    if part not in ("train", "test", "all"):
        raise ValueError(f"part: got {part!r}, expected train, test or all")
    found = []
    with tarfile.open(fetch("fsdd", "recordings.tar.gz")) as packed:
        for member in packed:
            name = member.name.rpartition("/")[2].removesuffix(".wav")
            if not member.isfile() or name.count("_") != 2:
                continue
            digit, speaker, take = name.split("_")
            if part == "all" or (int(take) in FSDD_TEST) == (part == "test"):
                opened = packed.extractfile(member)
                assert opened is not None, "a file has content"
                found.append((*_samples(opened.read(), name), DIGITS[int(digit)], speaker, name))
    return _recordings(found, f"fsdd, {part} (real)")


def ljspeech() -> Recordings:
    """Return 48 sentences read by one woman, 22,050 samples per second; numbers are spelled out.

    Source: Ito and Johnson 2017.
    """
    table = fetch("ljspeech_48", "metadata.csv").read_text("utf-8").splitlines()
    transcripts = {line.split("|")[0]: line.split("|")[2] for line in table}
    found = []
    with tarfile.open(fetch("ljspeech_48", "wavs.tar")) as packed:
        for member in packed:
            name = member.name.rpartition("/")[2].removesuffix(".wav")
            opened = packed.extractfile(member)
            if opened is not None and name in transcripts:
                found.append((*_samples(opened.read(), name), transcripts[name], "LJ", name))
    return _recordings(found, "ljspeech_48 (real)")


def _recordings(found: list[tuple[Floats, int, str, str, str]], source: str) -> Recordings:
    if not found:
        raise DataError(f"{source}: got no recordings in the archive")
    waves, rates, words, speakers, names = zip(*found, strict=True)
    if len({*rates}) > 1:
        raise DataError(f"{source}: rates {sorted({*rates})}, expected one")
    return Recordings(waves, rates[0], words, speakers, names, source)


def _samples(data: bytes, name: str) -> tuple[Floats, int]:
    """Return the samples of a one-channel 16-bit WAV file, and its sampling rate."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            kind = (file.getnchannels(), file.getsampwidth())
            samples, rate = file.readframes(file.getnframes()), file.getframerate()
    except (wave.Error, EOFError) as error:
        raise DataError(f"{name}: no WAV file: {error}") from error
    if kind != (1, 2):
        raise DataError(f"{name}: {kind[0]} channels of {8 * kind[1]} bits, expected 1 of 16")
    return np.frombuffer(samples, "<i2").astype(np.float32) / np.float32(32768), rate

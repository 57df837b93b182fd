"""Recorded speech with what was said: AN4 as cepstra, FSDD and LJ Speech as waveforms.

`Recordings` have waveforms, `Utterances` only features of them. Both say who speaks, because a
recogniser is measured on voices that it has not heard: `held_out` parts them. `join_recordings`
makes strings of digits from single ones.
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
FSDD_TEST = range(5)  # takes 0 to 4 of each digit and speaker are its test, says its README


class Phone(NamedTuple):
    """One speech sound, and where it is: `wave[first:last]`."""

    name: str
    first: int
    last: int


Some = TypeVar("Some", bound="Utterances | Recordings")


def _checked(found: Utterances | Recordings, arrays: str) -> None:
    """Raises DataError unless every field has one value an utterance."""
    lengths = {f: len(getattr(found, f)) for f in (arrays, "words", "speakers", "names")}
    if len(set(lengths.values())) > 1 or not lengths[arrays]:
        raise DataError(f"{lengths}: expected equal counts, at least one at least")


def _only(found: Some, which: Iterable[int]) -> Some:
    places = list(which)
    if not places or not all(-len(found) <= i < len(found) for i in places):
        raise DataError(f"which: {places[:5]}, expected places among {len(found)} utterances")
    every = {f.name: getattr(found, f.name) for f in fields(found)}
    chosen: Any = {
        name: tuple(values[i] for i in places)
        for name, values in every.items()
        if isinstance(values, tuple) and values
    }
    return replace(found, **chosen)


def _held_out(found: Some, speakers: Iterable[str]) -> tuple[Some, Some]:
    held, known = {*speakers}, {*found.speakers}
    if not held or not held < known:
        raise DataError(f"speakers: {sorted(held)}, expected some of {sorted(known)}, not all")
    places = [i for i, speaker in enumerate(found.speakers) if speaker in held]
    others = [i for i, speaker in enumerate(found.speakers) if speaker not in held]
    return _only(found, others), _only(found, places)


@dataclass(frozen=True)
class Utterances:
    """Features of what was said, each utterance a row of frames.

    features  float32 (T, n) of each utterance
    words     what was said, words between single spaces
    speakers  who said it
    names     of each utterance, in its corpus
    Raises DataError where one has more values than another.
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
        """The utterances at these places, in this order."""
        return _only(self, which)

    def held_out(self, speakers: Iterable[str]) -> tuple[Utterances, Utterances]:
        """All utterances of other speakers, and those of these. Raises DataError where a speaker is
        unknown, or none would be left.
        """
        return _held_out(self, speakers)


@dataclass(frozen=True)
class Recordings:
    """Waveforms of what was said.

    waves  float32 (n,) from -1 to 1 of each recording, `rate` samples a second
    words, speakers, names  as for `Utterances`
    phones  of each recording its sounds and their places, where these are known; else ()
    Raises DataError where one has more values than another.
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
        """How long all of them are together."""
        return sum(len(samples) for samples in self.waves) / self.rate

    def only(self, which: Iterable[int]) -> Recordings:
        """The recordings at these places, in this order."""
        return _only(self, which)

    def held_out(self, speakers: Iterable[str]) -> tuple[Recordings, Recordings]:
        """All recordings of other speakers, and those of these; as for `Utterances`."""
        return _held_out(self, speakers)


def join_recordings(
    recordings: Recordings, n: int, length: int | tuple[int, int] = 4, *, gap: float = 0.1,
    seed: int = 0,
) -> Recordings:  # fmt: skip
    """n strings of recordings, each of one speaker, drawn with replacement: digits become numbers.

    length  how many are joined, or the least and the most
    gap     seconds of silence between two
    Raises DataError for numbers that make no string.
    """
    least, most = (length, length) if isinstance(length, int) else length
    for name, value, low in (("n", n, 1), ("length", least, 1), ("length", most, least)):
        whole(name, value, low, None)
    if not 0 <= gap < 10:
        raise DataError(f"gap: {gap}, expected seconds from 0 to 10")
    people = sorted({*recordings.speakers})
    of = {who: [i for i, s in enumerate(recordings.speakers) if s == who] for who in people}
    rng = np.random.default_rng(seed)
    strings = []
    for _ in range(n):
        mine = of[people[int(rng.integers(len(people)))]]
        strings.append(
            [mine[int(i)] for i in rng.integers(len(mine), size=rng.integers(least, most + 1))]
        )
    made = [_string(recordings, places, round(gap * recordings.rate)) for places in strings]
    waves, phones = zip(*made, strict=True)
    return Recordings(
        waves,
        recordings.rate,
        tuple(" ".join(recordings.words[i] for i in places) for places in strings),
        tuple(recordings.speakers[places[0]] for places in strings),
        tuple("+".join(recordings.names[i] for i in places) for places in strings),
        f"{recordings.source}, joined into {n} strings",
        phones if recordings.phones else (),
    )


def _string(
    recordings: Recordings, places: Sequence[int], gap: int
) -> tuple[Floats, tuple[Phone, ...]]:
    pieces: list[Floats] = []
    phones: list[Phone] = []
    start = 0
    for place in places:
        if pieces:
            pieces.append(np.zeros(gap, np.float32))
            start += gap
        if recordings.phones:
            phones += [Phone(p, start + a, start + b) for p, a, b in recordings.phones[place]]
        pieces.append(recordings.waves[place])
        start += len(pieces[-1])
    return np.concatenate(pieces), tuple(phones)


def an4(part: str = "train") -> Utterances:
    """CMU's AN4: people spell names and say addresses, dates and numbers. 13 mel cepstra for each
    hundredth of a second; "train" (948 utterances, 42 minutes) or "test" (130, six minutes, other
    speakers). The words are in capitals. Raises ValueError for another part.

    Source: Acero 1993.
    """
    if part not in ("train", "test"):
        raise ValueError(f"part: got {part!r}, expected train or test")
    table = fetch("an4_mfcc", "transcripts.tsv").read_text("utf-8").splitlines()
    rows = [row for row in csv.DictReader(table, delimiter="\t") if row["split"] == part]
    with np.load(fetch("an4_mfcc", "an4_mfcc.npz")) as packed:
        mfcc, offsets = packed["mfcc"].astype(np.float32), packed["offsets"]
    places = [int(row["index"]) for row in rows]
    return Utterances(
        tuple(mfcc[offsets[i] : offsets[i + 1]] for i in places),
        tuple(row["words"] for row in rows),
        tuple(row["speaker"] for row in rows),
        tuple(row["utterance"] for row in rows),
        f"an4_mfcc, {part} (real)",
    )


def an4_sounds() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Each word of AN4 with the ways to say it, each a row of phones in ARPAbet."""
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for line in fetch("an4_mfcc", "an4.dic").read_text("utf-8").splitlines():
        word, *phones = line.split()
        word = word.partition("(")[0]
        found[word] = (*found.get(word, ()), tuple(phones))
    return found


def fsdd(part: str = "all") -> Recordings:
    """The Free Spoken Digit Dataset: six people say each digit fifty times, 8,000 samples a second.

    "test" are takes 0 to 4 (300 recordings), as its README has it, "train" the others (2,700): the
    same six voices are in both. For voices not heard in training use `held_out` instead. The words
    are `DIGITS`. Raises ValueError for another part.
    Source: Jackson et al. 2018.
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
    """48 sentences that one woman reads, 22,050 samples a second; numbers are written out.

    Source: Ito and Johnson 2017.
    """
    table = fetch("ljspeech_48", "metadata.csv").read_text("utf-8").splitlines()
    said = {line.split("|")[0]: line.split("|")[2] for line in table}
    found = []
    with tarfile.open(fetch("ljspeech_48", "wavs.tar")) as packed:
        for member in packed:
            name = member.name.rpartition("/")[2].removesuffix(".wav")
            opened = packed.extractfile(member)
            if opened is not None and name in said:
                found.append((*_samples(opened.read(), name), said[name], "LJ", name))
    return _recordings(found, "ljspeech_48 (real)")


def _recordings(found: list[tuple[Floats, int, str, str, str]], source: str) -> Recordings:
    if not found:
        raise DataError(f"{source}: no recording in the archive")
    waves, rates, words, speakers, names = zip(*found, strict=True)
    if len({*rates}) > 1:
        raise DataError(f"{source}: rates {sorted({*rates})}, expected one")
    return Recordings(waves, rates[0], words, speakers, names, source)


def _samples(data: bytes, name: str) -> tuple[Floats, int]:
    """The samples of a WAV file of one channel in 16 bits, and how many a second has."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            kind = (file.getnchannels(), file.getsampwidth())
            samples, rate = file.readframes(file.getnframes()), file.getframerate()
    except (wave.Error, EOFError) as error:
        raise DataError(f"{name}: no WAV file: {error}") from error
    if kind != (1, 2):
        raise DataError(f"{name}: {kind[0]} channels of {8 * kind[1]} bits, expected 1 of 16")
    return np.frombuffer(samples, "<i2").astype(np.float32) / np.float32(32768), rate

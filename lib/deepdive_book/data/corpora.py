"""Corpora that a reader brings: LibriSpeech's public parts, by download, and TIMIT, from a folder.

The published recognisers are measured on these. Neither comes with the companion: a part of
LibriSpeech has 330 MB, and TIMIT is sold.
"""

from __future__ import annotations

import os
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from deepdive.audio import AudioError, files
from deepdive.data.errors import DataError, DataRefused, DataUnavailable
from deepdive.data.fetch import fetch
from deepdive.data.speech import Phone, Recordings

LIBRISPEECH = ("dev-clean", "dev-other", "test-clean", "test-other")
TIMIT = "DEEPDIVE_TIMIT"
RATE = 16000


def librispeech(part: str = "dev-clean", each: int | None = None) -> Recordings:
    """People read books aloud, 16,000 samples a second; the words are in capitals.

    part  "dev-clean" (2,703 recordings of 40 speakers, 5.4 hours), "dev-other", "test-clean" or
          "test-other"; 330 MB are downloaded once. As float32 a whole part takes 1.2 GB
    each  how many recordings of each speaker at most, the first by name; all by default

    Raises ValueError for another part, DataUnavailable and DataRefused as `fetch` does.
    Source: Panayotov et al. 2015.
    """
    if part not in LIBRISPEECH:
        raise ValueError(f"part: got {part!r}, expected one of {', '.join(LIBRISPEECH)}")
    archive = fetch("librispeech", f"{part}.tar.gz")
    sounds, said = dict[str, bytes](), dict[str, str]()
    try:
        with tarfile.open(archive, "r|gz") as packed:  # once through: to go back would unpack anew
            for name, content in _files(packed):
                if name.endswith(".flac"):
                    sounds[name.removesuffix(".flac")] = content
                elif name.endswith(".trans.txt"):
                    lines = content.decode("utf-8").splitlines()
                    said |= {line.partition(" ")[0]: line.partition(" ")[2] for line in lines}
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise DataRefused(f"{archive}: not a whole archive ({error})") from error
    names = _first(sorted(sounds.keys() & said.keys()), each)
    if not names:
        raise DataRefused(f"{archive}: no recording of {part} in it")
    return Recordings(
        tuple(_wave(sounds.pop(name), name) for name in names), RATE,
        tuple(said[name] for name in names),
        tuple(name.partition("-")[0] for name in names), tuple(names),
        f"librispeech, {part} (real)",
    )  # fmt: skip


def _files(packed: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    """Last part of the name, and content, of each file in an archive."""
    for member in packed:
        opened = packed.extractfile(member) if member.isfile() else None
        if opened is not None:
            yield member.name.rpartition("/")[2], opened.read()


def _first(names: list[str], each: int | None) -> list[str]:
    """The first `each` names of each speaker."""
    if each is None:
        return names
    if each < 1:
        raise ValueError(f"each={each}: expected 1 or more, or None for all")
    seen, found = Counter[str](), []
    for name in names:
        speaker = name.partition("-")[0]
        seen[speaker] += 1
        if seen[speaker] <= each:
            found.append(name)
    return found


def _wave(source: files.Source, name: str) -> files.Floats:
    try:
        return files.read(source, RATE).numpy()
    except AudioError as error:
        raise DataError(f"{name}: {error}") from error


def timit(folder: str | os.PathLike[str] | None = None, part: str = "test") -> Recordings:
    """TIMIT as its discs hold it (LDC93S1): 630 people read ten sentences each, with the place of
    each sound. The words are those of the .WRD files, in capitals.

    folder  the one that has TEST and TRAIN; by default the one that DEEPDIVE_TIMIT names
    part    "test" (168 speakers, 1,680 recordings, 1.5 hours) or "train"

    All read the sentences SA1 and SA2: leave them out by name where a sentence must not be in both
    parts. Raises ValueError for another part, DataUnavailable where there is no such folder,
    DataError for one without recordings and for a recording that cannot be read.
    Source: Garofolo et al. 1993.
    """
    if part not in ("test", "train"):
        raise ValueError(f"part: got {part!r}, expected test or train")
    root = _timit_folder(folder, part)
    found = sorted(path for path in root.rglob("*") if path.suffix.lower() == ".wav")
    found = [path for path in found if not path.stem.lower().endswith(".wav")]  # copies as RIFF
    if not found:
        raise DataError(f"{root}: no .WAV file, expected DR1/FAKS0/SA1.WAV and its like")
    beside = [{each.suffix.lower(): each for each in _beside(path)} for path in found]
    places = [path.relative_to(root).with_suffix("").as_posix().upper() for path in found]
    phones = tuple(_phones(each[".phn"]) for each in beside if ".phn" in each)
    return Recordings(
        tuple(_wave(path, place) for path, place in zip(found, places, strict=True)),
        RATE,
        tuple(_words(path, each) for path, each in zip(found, beside, strict=True)),
        tuple(path.parent.name.upper() for path in found),
        tuple(places),
        f"TIMIT, {part} (real)",
        phones if len(phones) == len(found) else (),
    )


def _timit_folder(folder: str | os.PathLike[str] | None, part: str) -> Path:
    named = os.environ.get(TIMIT, "") if folder is None else folder
    if not named:
        raise DataUnavailable(
            "TIMIT is sold by the Linguistic Data Consortium (LDC93S1) and cannot be downloaded "
            f"here. Two ways out:\n  1. pass its folder, or set {TIMIT} to it\n"
            '  2. use a public corpus: librispeech("dev-clean")'
        )
    root = Path(named)
    for place in (root, root / "TIMIT", root / "timit", root / "data"):
        for name in (part.upper(), part):
            if (place / name).is_dir():
                return place / name
    raise DataUnavailable(f"folder: {root} has no {part.upper()}; expected TIMIT's, TEST and TRAIN")


def _beside(path: Path) -> list[Path]:
    return [each for each in path.parent.iterdir() if each.stem.lower() == path.stem.lower()]


def _rows(path: Path) -> list[tuple[int, int, str]]:
    """First sample, last sample and name of each row of a .WRD or .PHN file."""
    rows = [line.split(maxsplit=2) for line in path.read_text("ascii").splitlines() if line.strip()]
    try:
        return [(int(first), int(last), name) for first, last, name in rows]
    except ValueError as error:
        raise DataError(f"{path}: expected first sample, last sample and name a row") from error


def _words(path: Path, beside: dict[str, Path]) -> str:
    if ".wrd" not in beside:
        raise DataError(f"{path}: no .WRD beside it, which says its words")
    return " ".join(name.upper() for _, _, name in _rows(beside[".wrd"]))


def _phones(path: Path) -> tuple[Phone, ...]:
    return tuple(Phone(name, first, last) for first, last, name in _rows(path))

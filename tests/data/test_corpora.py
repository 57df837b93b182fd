"""LibriSpeech and TIMIT by stand-ins of their form: noise in an archive and in folders."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from lying_server import Answer, LyingServer
from tarballs import tarball
from toy_data import sha256

from deepdive.data import DataError, DataRefused, DataUnavailable, get
from deepdive.data.speech import Phone
from deepdive_book.data.corpora import LIBRISPEECH, RATE, librispeech, timit

SAID = {"84-121123-0000": "GO", "84-121123-0001": "GO ON", "174-50561-0000": "MARIE SAID I'M"}


def noise(seed: int, seconds: float = 0.2) -> np.ndarray:
    drawn = np.random.default_rng(seed).uniform(-0.3, 0.3, round(seconds * RATE))
    return drawn.astype(np.float32)


def archive(said: dict[str, str] = SAID, broken: str = "") -> bytes:
    """A part as it is published: folders of speaker and chapter, FLAC, a table beside."""
    members: dict[str, bytes] = {"LibriSpeech/LICENSE.TXT": b"CC BY 4.0"}
    for i, (name, words) in enumerate(said.items()):
        speaker, chapter, _ = name.split("-")
        folder = f"LibriSpeech/dev-clean/{speaker}/{chapter}"
        sound = io.BytesIO()
        soundfile.write(sound, noise(i), RATE, format="FLAC")
        members[f"{folder}/{name}.flac"] = b"no FLAC" if name == broken else sound.getvalue()
        table = f"{folder}/{speaker}-{chapter}.trans.txt"
        members[table] = members.get(table, b"") + f"{name} {words}\n".encode()
    return tarball(members)


@pytest.fixture
def part(
    cache: Path, server: LyingServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[[bytes], str]:
    """Register these bytes in dev-clean's place; the path under which the server has them."""
    module = importlib.import_module("deepdive.data.registry")
    said = json.loads(Path(module.__file__).with_name("registry.json").read_text("utf-8"))
    entry = next(each for each in said["datasets"] if each["name"] == "librispeech")

    def put(content: bytes) -> str:
        what = {"bytes": len(content), "sha256": sha256(content)}
        loose = {"path": f"{server.address}/dev-clean.tar.gz", **what}
        file = {"file": "dev-clean.tar.gz", **what, "parts": [loose], "recipe": "copy"}
        data = module._dataset({**entry, "files": [file]})
        monkeypatch.setattr(module, "_load", lambda: {"librispeech": data})
        return "dev-clean.tar.gz"

    return put


def test_the_published_parts_are_registered() -> None:
    data = get("librispeech")
    assert [file.file for file in data.files] == [f"{part}.tar.gz" for part in LIBRISPEECH]
    for file in data.files:
        (part,) = file.parts
        assert part.address == f"https://www.openslr.org/resources/12/{file.file}"
        assert (part.bytes, part.sha256) == (file.bytes, file.sha256)
    assert data.file("dev-clean.tar.gz").bytes == 337_926_286
    assert "dev-clean 42e2234ba48799c1f50f24a7926300a1" in data.made


def test_a_part_is_downloaded_once_and_read(
    part: Callable[[bytes], str], server: LyingServer
) -> None:
    content = archive()
    server.say(part(content), Answer(content))
    found = librispeech("dev-clean")
    assert dict(zip(found.names, found.words, strict=True)) == SAID
    assert found.names == tuple(sorted(SAID))
    assert found.speakers == ("174", "84", "84")
    assert found.rate == RATE
    for wave, name in zip(found.waves, found.names, strict=True):
        assert np.abs(wave - noise([*SAID].index(name))).max() < 1e-4
    assert librispeech("dev-clean", each=1).names == ("174-50561-0000", "84-121123-0000")
    assert len(server.log) == 1
    with pytest.raises(ValueError, match="expected one of dev-clean"):
        librispeech("train-clean-100")
    with pytest.raises(ValueError, match="each=0: expected 1 or more"):
        librispeech("dev-clean", each=0)


def test_from_a_mirror_with_no_server_at_all(
    part: Callable[[bytes], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = archive()
    path = tmp_path / "mirror" / "librispeech" / part(content)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    monkeypatch.setenv("DEEPDIVE_MIRROR", str(tmp_path / "mirror"))
    assert len(librispeech()) == 3


def test_a_slow_server_that_drops(part: Callable[[bytes], str], server: LyingServer) -> None:
    content = archive()
    server.say(part(content), Answer(content, drop_after=9000, pause=0.01), Answer(content))
    assert len(librispeech()) == 3
    assert len(server.log) == 2


def test_a_server_that_lies(part: Callable[[bytes], str], server: LyingServer, cache: Path) -> None:
    content = archive()
    other = bytearray(content)
    other[len(other) // 2] ^= 1
    server.say(part(content), Answer(bytes(other)))
    with pytest.raises(DataRefused, match=r"SHA256 .*expected .* but got"):
        librispeech()
    assert not (cache / "librispeech" / "dev-clean.tar.gz").exists()


def test_no_network_says_where_to_put_it(part: Callable[[bytes], str]) -> None:
    part(archive())  # the server answers 404
    with pytest.raises(DataUnavailable, match=r"dev-clean.tar.gz is not available(.|\n)*MIRROR"):
        librispeech()


def test_strange_archives_are_named(part: Callable[[bytes], str], server: LyingServer) -> None:
    for content, error in (
        (archive(broken="84-121123-0001"), "84-121123-0001: .*not a readable audio file"),
        (archive({}), "no recording of dev-clean"),
        (archive()[:2000], "not a whole archive"),
    ):
        server.say(part(content), Answer(content))
        with pytest.raises(DataError, match=error):
            librispeech()


# -- TIMIT


def disc(root: Path, lower: bool = False) -> Path:
    """A folder as the disc has it: SPHERE headers, words and sounds beside them."""
    for i, place in enumerate(("DR1/FAKS0/SA1", "DR1/FAKS0/SX43", "DR2/MABW0/SA1")):
        stem = root / "TEST" / place
        stem.parent.mkdir(parents=True, exist_ok=True)
        files = {
            ".TXT": "0 3200 She had, your dark suit.\n",
            ".WRD": "100 900 she\n900 2000 had\n2000 3000 your\n",
            ".PHN": "0 100 h#\n100 500 sh\n500 900 iy\n",
        }
        for ending, text in files.items():
            stem.with_suffix(ending.lower() if lower else ending).write_text(text)
        soundfile.write(stem.with_suffix(".WAV"), noise(i), RATE, format="NIST", subtype="PCM_16")
    return root


@pytest.mark.parametrize("lower", [False, True])
def test_a_disc_is_read(tmp_path: Path, lower: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    root = disc(tmp_path / "TIMIT", lower)
    (root / "TEST" / "DR1" / "FAKS0" / "SA1.WAV.wav").write_bytes(b"a copy as RIFF")
    assert (root / "TEST/DR1/FAKS0/SA1.WAV").read_bytes().startswith(b"NIST_1A")
    found = timit(root)
    assert found.names == ("DR1/FAKS0/SA1", "DR1/FAKS0/SX43", "DR2/MABW0/SA1")
    assert found.speakers == ("FAKS0", "FAKS0", "MABW0")
    assert found.words == ("SHE HAD YOUR",) * 3
    assert found.phones[0][1] == Phone("sh", 100, 500)
    assert np.abs(found.waves[1] - noise(1)).max() < 1e-4
    monkeypatch.setenv("DEEPDIVE_TIMIT", str(tmp_path))
    assert timit().names == found.names


def test_without_the_disc_both_ways_out_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEPDIVE_TIMIT", raising=False)
    with pytest.raises(DataUnavailable, match=r"LDC93S1(.|\n)*DEEPDIVE_TIMIT(.|\n)*librispeech"):
        timit()
    with pytest.raises(DataUnavailable, match="has no TEST; expected TIMIT's"):
        timit(tmp_path)
    (tmp_path / "TEST").mkdir()
    with pytest.raises(DataError, match=r"no .WAV file, expected DR1/FAKS0/SA1.WAV"):
        timit(tmp_path)
    with pytest.raises(ValueError, match="expected test or train"):
        timit(tmp_path, "core")


def test_files_that_do_not_fit_are_named(tmp_path: Path) -> None:
    path = disc(tmp_path) / "TEST" / "DR1" / "FAKS0" / "SA1.WAV"
    plain = path.read_bytes()
    coded = b"sample_coding -s26 pcm,embedded-shorten-v2.00\n"
    path.write_bytes(plain[:16] + coded + plain[16 : 1024 - len(coded)] + b"ajkg\x02" + bytes(99))
    with pytest.raises(DataError, match=r"FAKS0/SA1: .*compressed with shorten(.|\n)*sph2pipe"):
        timit(tmp_path)
    path.write_bytes(plain)
    path.with_suffix(".WRD").write_text("100 she\n")
    with pytest.raises(DataError, match=r"SA1.WRD: expected first sample, last sample and name"):
        timit(tmp_path)
    path.with_suffix(".WRD").unlink()
    with pytest.raises(DataError, match=r"SA1.WAV: no .WRD beside it"):
        timit(tmp_path)

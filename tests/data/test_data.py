"""Data: what is registered, what is fetched from honest and lying places, pairs, batches."""

from __future__ import annotations

import dataclasses
import gzip
import importlib
import io
import json
import multiprocessing
import os
import signal
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lying_server import Answer, LyingServer, lying_server
from toy_data import (
    BODY,
    OTHER,
    TEXT,
    archived,
    entry,
    get_toy,
    packed_tar,
    packed_zip,
)

from deepdive.data import (
    BucketBatches,
    DataError,
    DataRefused,
    DataUnavailable,
    dataset_log,
    fetch,
    get,
    normalize_spaces,
    pairs,
    read_pairs,
    registry,
    retrieval_languages,
    retrieval_pairs,
    split_by,
    verify,
    where,
)
from deepdive.data.check import _hash_up_to
from deepdive.data.documents import web_documents
from deepdive.data.parts import Parts
from deepdive.data.recipes import RECIPES
from deepdive.data.tasks import entities, parts_of_speech
from deepdive.data.trees import treebank

# --- the registry

# No repository has these: archives that stay as their publisher has them, and are large, so that no
# mirror need hold them for the tests.
PUBLISHED_AS_FILES = {"librispeech"}


def test_every_data_set_says_where_it_comes_from_and_under_which_licence() -> None:
    assert len(registry()) == 33
    for name, data in registry().items():
        assert data.name == name
        for field in ("title", "license", "license_evidence", "citation", "columns", "made"):
            assert getattr(data, field), f"{name}: no {field}"
        assert data.bytes == sum(file.bytes for file in data.files) > 0
        assert data.upstream.startswith("https://")
        assert len(data.commit) == (0 if name in PUBLISHED_AS_FILES else 40)


def test_every_file_is_registered_by_its_bytes_and_can_be_made_or_says_how() -> None:
    for data in registry().values():
        for file in data.files:
            assert len(file.sha256) == 64
            packed = file.file.endswith(".gz") and data.name not in PUBLISHED_AS_FILES
            assert (file.content_sha256 is not None) == packed
            assert file.recipe in RECIPES if file.downloads else file.by_hand.startswith("It is")
            for part in file.parts:
                assert part.address.startswith("https://")
                assert part.address.isascii()
                assert " " not in part.address
                assert part.sha256 is not None or "/archive/" in part.address


def test_the_registry_names_no_machine() -> None:
    module = importlib.import_module("deepdive.data.registry")
    text = Path(module.__file__).with_name("registry.json").read_text("utf-8")
    assert not [place for place in ("/work", "/home", "/tmp", "localhost") if place in text]


def test_a_data_set_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        get("tinyshakespeare").title = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        registry()["mine"] = get("tinyshakespeare")  # type: ignore[index]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: get("tatoeba_eng_fr"), "did you mean tatoeba_eng_fra"),
        (lambda: get("zzz"), "there are: tatoeba_eng_fra, "),
        (lambda: get(3), "expected the name of a data set"),  # type: ignore[arg-type]
        (lambda: fetch("../etc"), "no data set '../etc'"),
        (lambda: fetch("tatoeba_eng_fra", "fra.txt"), "did you mean fra.txt.gz"),
        (lambda: fetch("tatoeba_eng_fra", "../fra.txt.gz"), "has no '../fra.txt.gz'"),
        (lambda: pairs("xnli"), "retrieval_pairs"),
    ],
)
def test_wrong_names_get_an_error_that_helps(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_a_registered_name_that_leaves_its_folder_is_refused(
    register: Callable[..., None],
) -> None:
    with pytest.raises(DataError, match="not a plain file name"):
        register(entry("../body.bin", BODY))


# --- download


def test_a_file_is_downloaded_once(toy: Path, server: LyingServer) -> None:
    server.say("body", Answer(BODY))
    assert get_toy() == toy
    assert toy.read_bytes() == BODY
    assert get_toy() == toy
    assert len(server.log) == 1
    assert sorted(path.name for path in toy.parent.rglob("*")) == [".source", "body.bin"]


TROUBLES = {
    "drops": [Answer(BODY, drop_after=20_000), Answer(BODY)],
    "says no length": [Answer(BODY, says_length=False)],
    "slow": [Answer(BODY, pause=0.01)],
    "fails, then works": [Answer(status=500), Answer(status=503), Answer(BODY)],
    "corrupt once": [Answer(OTHER), Answer(BODY)],
    "a length that is none": [Answer(BODY, length="\u00b9"), Answer(BODY)],
}


@pytest.mark.parametrize("answers", TROUBLES.values(), ids=TROUBLES.keys())
def test_trouble_on_the_way_still_ends_in_the_right_bytes(
    toy: Path, server: LyingServer, answers: list[Answer]
) -> None:
    server.say("body", *answers)
    assert get_toy().read_bytes() == BODY


def test_a_download_that_falls_silent_is_asked_for_again(
    toy: Path, server: LyingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deepdive.data.download.TIMEOUT", 0.3)
    server.say("body", Answer(BODY, stall_after=20_000), Answer(BODY))
    assert get_toy().read_bytes() == BODY
    assert len(server.log) == 2


REFUSED = {
    "corrupt": (Answer(OTHER), "SHA256 .*expected .* but got"),
    "truncated": (Answer(BODY[:50_000]), "SHA256"),
    "claims less than it has": (Answer(BODY, length=50_000), "SHA256"),
    "far too long": (Answer(BODY * 40, says_length=False), "more than the 60,000 bytes expected"),
    "empty": (Answer(b""), "SHA256"),
}


@pytest.mark.parametrize(("answer", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_wrong_bytes_are_refused_and_leave_nothing(
    toy: Path, server: LyingServer, answer: Answer, reason: str
) -> None:
    address = server.say("body", answer)
    with pytest.raises(DataRefused, match=f"{address}: refused, .*{reason}.*DEEPDIVE_MIRROR"):
        get_toy()
    assert not toy.exists()
    assert not list(toy.parent.rglob("*body*"))
    server.say("body", Answer(BODY))
    assert get_toy().read_bytes() == BODY


GONE = {
    "not there": (Answer(status=404), "404"),
    "broken for ever": (Answer(status=500), "500"),
    "drops at once": (Answer(BODY, drop_after=0), "60000 more expected"),
    "claims more than comes": (Answer(BODY, length=70_000), "10000 more expected"),
}


@pytest.mark.parametrize(("answer", "reason"), GONE.values(), ids=GONE.keys())
def test_a_server_that_gives_nothing_is_given_up(
    toy: Path, server: LyingServer, answer: Answer, reason: str
) -> None:
    address = server.say("body", answer)
    with pytest.raises(DataUnavailable, match=f"download: {address}: .*{reason}"):
        get_toy()
    assert len(server.log) == 3
    assert [path.name for path in toy.parent.rglob("*")] == [".source"]


def test_offline_is_one_error_with_what_was_tried_and_two_ways_out(
    register: Callable[..., None], cache: Path
) -> None:
    with lying_server() as gone:
        address = f"{gone.address}/body"
    register(entry("body.bin", BODY, address))
    with pytest.raises(DataUnavailable) as caught:
        get_toy()
    message = str(caught.value)
    for part in ("toy/body.bin", "mirror: none", f"cache: no {cache}", address, "refused"):
        assert part in message
    for way in ("1. go online", "DEEPDIVE_MIRROR", "2. choose the ci profile", 'PROFILE = "ci"'):
        assert way in message


def test_a_file_that_no_address_gives_says_which_to_get_and_where_to_put_it(
    register: Callable[..., None], cache: Path
) -> None:
    register(entry("body.bin", BODY))
    with pytest.raises(
        DataUnavailable, match=f"(?s)From elsewhere.*put it at {cache}/toy/body.bin"
    ):
        get_toy()
    (cache / "toy" / "body.bin").write_bytes(BODY)
    assert get_toy().read_bytes() == BODY


def test_a_set_that_was_had_is_noted_and_one_that_was_not_is_not(
    toy: Path, server: LyingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "opened"
    monkeypatch.setenv(dataset_log.SETTING, str(note))
    server.say("body", Answer(BODY, status=404))
    with pytest.raises(DataError):
        get_toy()
    assert dataset_log.noted(note) == []
    server.say("body", Answer(BODY))
    for _ in range(2):
        get_toy()
    assert dataset_log.noted(note) == ["toy"]


# --- processes that are killed, and processes that meet


def in_process(work: Callable[[], object]) -> multiprocessing.Process:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of fork beside a thread
        process = multiprocessing.get_context("fork").Process(target=work)
        process.start()
    return process  # type: ignore[return-value]


def wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not happened():
        assert time.monotonic() < end, "it did not happen within 15 s"
        time.sleep(0.01)


def test_a_killed_download_leaves_no_wrong_file(toy: Path, server: LyingServer) -> None:
    server.say("body", Answer(BODY, stall_after=20_000), Answer(BODY))
    process = in_process(get_toy)
    half = toy.parent / ".source"
    try:
        wait_for(lambda: bool(list(half.glob("tmp*"))))
    finally:
        process.kill()
        process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not toy.exists()
    assert get_toy().read_bytes() == BODY
    assert sorted(path.name for path in toy.parent.rglob("*")) == [".source", "body.bin"]


def test_processes_that_fetch_the_same_file_download_it_once(
    toy: Path, server: LyingServer
) -> None:
    server.say("body", Answer(BODY, pause=0.01))
    processes = [in_process(get_toy) for _ in range(4)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert toy.read_bytes() == BODY
    assert len(server.log) == 1


# --- mirror and cache


def test_the_mirror_comes_first(mirror: Path, toy: Path, server: LyingServer) -> None:
    mirror.write_bytes(BODY)
    toy.parent.mkdir(parents=True)
    toy.write_bytes(BODY)
    assert get_toy() == mirror
    assert fetch("toy") == mirror.parent == where("toy")
    assert server.log == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [(OTHER, "sha256"), (BODY[:-1], "truncated"), (BODY + b"x", "60,001 bytes"), (b"", "0 bytes")],
)
def test_a_wrong_file_in_the_mirror_is_named_and_refused_not_passed_over(
    mirror: Path, server: LyingServer, content: bytes, reason: str
) -> None:
    server.say("body", Answer(BODY))
    mirror.write_bytes(content)
    for file in ("body.bin", None):
        with pytest.raises(DataRefused, match=f"{mirror}: refused, .*{reason}"):
            fetch("toy", file, progress=False)
    assert server.log == []
    with pytest.warns(UserWarning, match=f"{mirror}: refused"):
        assert where("toy") is None


def test_a_file_that_changes_under_its_name_is_hashed_again(mirror: Path) -> None:
    mirror.write_bytes(BODY)
    assert get_toy() == mirror
    mirror.write_bytes(OTHER)
    os.utime(mirror, ns=(1, 1))
    with pytest.raises(DataRefused):
        get_toy()


def test_a_mirror_without_the_file_leads_on_to_the_download(
    mirror: Path, toy: Path, server: LyingServer
) -> None:
    server.say("body", Answer(BODY))
    assert get_toy() == toy
    server.say("body", Answer(status=404))
    toy.unlink()
    with pytest.raises(DataUnavailable, match=f"mirror: no {mirror}"):
        get_toy()


def test_a_mirror_that_is_no_folder_is_an_error(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPDIVE_MIRROR", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"DEEPDIVE_MIRROR: .*nowhere.* neither a folder"):
        get_toy()


def test_an_http_mirror_fills_the_cache(
    toy: Path, server: LyingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPDIVE_MIRROR", f"{server.address}/m/")
    server.say("m/toy/body.bin", Answer(BODY))
    assert get_toy() == get_toy() == toy
    assert server.log == ["/m/toy/body.bin"]


def test_an_http_mirror_without_the_file_is_warned_of(
    toy: Path, server: LyingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPDIVE_MIRROR", f"{server.address}/m")
    server.say("body", Answer(BODY))
    with pytest.warns(UserWarning, match="the mirror did not give toy/body.bin") as caught:
        assert get_toy().read_bytes() == BODY
    assert caught[0].filename == get_toy.__code__.co_filename  # who asked


def test_a_wrong_file_in_an_http_mirror_is_refused(
    toy: Path, server: LyingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPDIVE_MIRROR", f"{server.address}/m")
    server.say("m/toy/body.bin", Answer(OTHER))
    server.say("body", Answer(BODY))
    with pytest.raises(DataRefused, match=r"/m/toy/body\.bin: refused"):
        get_toy()


def test_a_checkout_uses_the_folder_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = importlib.import_module("deepdive.data.storage_paths")
    monkeypatch.delenv("DEEPDIVE_MIRROR", raising=False)
    inside = tmp_path / "checkout" / "lib" / "deepdive" / "data" / "places.py"
    inside.parent.mkdir(parents=True)
    (tmp_path / "shared" / "data").mkdir(parents=True)
    monkeypatch.setattr(places, "__file__", str(inside))
    assert places.mirror() is None  # no checkout: an installed library looks nowhere by itself
    (tmp_path / "checkout" / "pyproject.toml").touch()
    assert places.mirror() == (tmp_path / "shared" / "data").resolve()


def test_a_wrong_file_in_the_cache_is_moved_aside_and_replaced(
    toy: Path, server: LyingServer
) -> None:
    server.say("body", Answer(BODY))
    toy.parent.mkdir(parents=True)
    toy.write_bytes(OTHER)
    with pytest.warns(UserWarning, match=f"{toy}: refused, .*moved to .body.bin.refused"):
        assert get_toy().read_bytes() == BODY
    assert (toy.parent / ".body.bin.refused").read_bytes() == OTHER


def test_a_wrong_file_in_the_cache_is_not_used_for_want_of_a_better(
    toy: Path, server: LyingServer
) -> None:
    toy.parent.mkdir(parents=True)
    toy.write_bytes(OTHER)
    with pytest.warns(UserWarning, match="refused"), pytest.raises(DataUnavailable):
        get_toy()
    assert not toy.exists()


def test_a_cache_that_cannot_be_written_is_an_error_that_names_the_setting(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DEEPDIVE_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match="DEEPDIVE_CACHE: cannot write"):
        get_toy()


def test_verify_reads_every_byte_whatever_the_clock_says(mirror: Path) -> None:
    mirror.write_bytes(BODY)
    get_toy()
    then = mirror.stat()
    mirror.write_bytes(OTHER)
    os.utime(mirror, ns=(then.st_atime_ns, then.st_mtime_ns))
    ((file, good, message),) = verify("toy")
    assert (file, good) == ("body.bin", False)
    assert f"{mirror}: sha256" in message
    mirror.unlink()
    ((_, good, message),) = verify("toy")
    assert not good
    assert message.startswith("not here; looked at")


def test_a_whole_data_set_lies_in_one_folder(
    mirror: Path, register: Callable[..., None], server: LyingServer, cache: Path
) -> None:
    register(
        entry("body.bin", BODY, server.say("body", Answer(status=404))),
        entry("text.txt.gz", TEXT, server.say("text", Answer(TEXT))),
    )
    mirror.write_bytes(BODY)
    assert where("toy") is None
    folder = fetch("toy", progress=False)
    assert folder == cache / "toy" == where("toy")
    assert (folder / "body.bin").read_bytes() == BODY
    assert gzip.decompress((folder / "text.txt.gz").read_bytes()) == TEXT
    assert all(good for _, good, _ in verify("toy"))


def test_what_the_mirror_gave_a_whole_data_set_is_copied_once(
    mirror: Path, register: Callable[..., None], server: LyingServer
) -> None:
    register(
        entry("body.bin", BODY),
        entry("text.txt.gz", TEXT, server.say("text", Answer(TEXT))),
    )
    mirror.write_bytes(BODY)
    copied = fetch("toy", progress=False) / "body.bin"
    os.utime(copied, ns=(1, 1))
    assert fetch("toy", progress=False) == copied.parent
    assert copied.stat().st_mtime_ns == 1


def test_a_gz_is_known_by_what_it_holds(
    register: Callable[..., None], server: LyingServer, cache: Path
) -> None:
    register(entry("text.txt.gz", TEXT, server.say("text", Answer(TEXT))))
    path = get_toy("text.txt.gz")
    for content in (gzip.compress(TEXT, 9, mtime=5), gzip.compress(TEXT, 0)):
        path.write_bytes(content)
        assert verify("toy")[0][1]
    for content, reason in (
        (gzip.compress(TEXT + b"x"), "holds more than"),
        (gzip.compress(TEXT[:-1] + b"x"), "holds 840 bytes of sha256"),
        (gzip.compress(TEXT)[:-9], "does not decompress"),
        (gzip.compress(bytes(50_000_000)), "holds more than the 840 bytes"),
    ):
        path.write_bytes(content)
        assert reason in verify("toy")[0][2]


def test_a_bomb_is_not_read_to_its_end() -> None:
    class Endless(io.RawIOBase):
        given = 0

        def read(self, size: int = -1) -> bytes:
            self.given += size
            assert self.given < 10_000_000
            return bytes(size)

    size, _ = _hash_up_to(Endless(), 1_000)  # type: ignore[arg-type]
    assert size > 1_000


# --- files made from archives


@pytest.mark.parametrize("pack", [packed_zip, packed_tar])
def test_members_of_one_archive_are_read_and_it_is_downloaded_once(
    register: Callable[..., None],
    server: LyingServer,
    cache: Path,
    pack: Callable[[dict[str, bytes]], bytes],
) -> None:
    content = pack({"d/text": TEXT, "d/body": BODY, "../../evil": OTHER, "/evil": OTHER})
    register(
        entry("text.txt.gz", TEXT, **archived(server, content, "member", "d/text")),
        entry("body.bin", BODY, **archived(server, content, "member", "d/body")),
    )
    folder = fetch("toy", progress=False)
    assert all(good for _, good, _ in verify("toy"))
    assert len(server.log) == 1
    files = sorted(path.name for path in folder.rglob("*") if path.is_file())
    assert files == ["body.bin", "text.txt.gz"]
    assert not list(cache.parent.rglob("*evil*"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (packed_tar({"text": OTHER}), "made from .*/pack: refused.*gives another version now"),
        (packed_tar({"other": TEXT}), "no member 'text'"),
        (packed_tar({"text": TEXT})[:99], "cannot be unpacked"),
        (b"<html>not found</html>", "cannot be unpacked"),
    ],
    ids=["changed", "member gone", "cut", "no archive"],
)
def test_an_archive_that_gives_something_else_is_refused_and_not_kept(
    register: Callable[..., None], server: LyingServer, cache: Path, content: bytes, reason: str
) -> None:
    register(entry("text.txt", TEXT, **archived(server, content, "member", "text")))
    with pytest.raises(DataRefused, match=reason):
        get_toy("text.txt")
    assert not [path for path in cache.rglob("*") if path.is_file() and path.name != ".lock"]
    server.say("pack", Answer(packed_tar({"text": TEXT})))
    assert get_toy("text.txt").read_bytes() == TEXT


def test_a_recipe_that_stumbles_over_its_parts_refuses_them(
    register: Callable[..., None], server: LyingServer
) -> None:
    content = packed_tar({"data/tatoeba/v1/tatoeba.fra-eng.eng": b"one\n"})  # its pair is missing
    register(entry("text.txt", TEXT, **archived(server, content, "tatoeba_retrieval")))
    with pytest.raises(DataRefused, match="parts are not as registered"):
        get_toy("text.txt")


def test_no_more_is_read_from_an_archive_than_allowed(tmp_path: Path) -> None:
    for pack in (packed_zip, packed_tar):
        (tmp_path / "pack").write_bytes(pack({"big": bytes(1_000_000)}))
        with pytest.raises(DataRefused, match="holds more than"):
            Parts({"pack": tmp_path / "pack"}, limit=999_999).member("big")


def test_tables_are_made_from_their_parts(tmp_path: Path) -> None:
    (tmp_path / "pack").write_bytes(
        packed_tar(
            {
                "data/tatoeba/v1/tatoeba.fra-eng.eng": b"one\ntwo\n",
                "data/tatoeba/v1/tatoeba.fra-eng.fra": b"un\ndeux\n",
                "metadata.py": b"metadata = {'theo': {'gender': 'male', 'accent': 'USA'}}\n",
                "good": "fine \n\ncaf\u00e9\n".encode("latin-1"),
                "bad": b"poor\n",
            }
        )
    )
    parts = Parts({"pack": tmp_path / "pack"})
    expected = b"language\tindex\tenglish\tother\nfra\t0\tone\tun\nfra\t1\ttwo\tdeux\n"
    assert RECIPES["tatoeba_retrieval"](parts) == expected
    assert RECIPES["fsdd_speakers"](parts) == b"speaker\tgender\taccent\ntheo\tmale\tUSA\n"
    made = RECIPES["labeled_lines"](parts, "latin-1", "1", "good", "0", "bad")
    assert made.decode() == "label\ttext\n1\tfine\n1\tcaf\u00e9\n0\tpoor\n"


# --- pairs


def test_pairs_are_read_from_any_tab_separated_file(tmp_path: Path) -> None:
    text = "\ufeffGo.\tVa\u202f!\r\n\n Hi. \tSalut\u2028!\tCC-BY 2.0\n"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("a.txt", "a.txt.gz"):
        read = read_pairs(tmp_path / name, seed=None)
        assert sorted(read_pairs(tmp_path / name)) == sorted(read)
        assert read == [("Go.", "Va\u202f!"), ("Hi.", "Salut\u2028!")]
    assert normalize_spaces("Va\u202f!\u00a0") == "Va ! "


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nc d\n", r"line 2: 1 columns, expected 2 .*'c d'"),
        (b"a\tb\tc\td\n", "line 1: 4 columns"),
        (b"a\tb\n\na\t \n", "line 3: an empty cell"),
        (b"a\tb\nc\t\xff\n", "line 2: not UTF-8"),
    ],
)
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_pairs(tmp_path / "a.txt")


@pytest.mark.parametrize("ending", [b"\r", b"\r\n", b"\n"])
@pytest.mark.parametrize("last", [True, False])
def test_every_ending_of_a_line_ends_it(tmp_path: Path, ending: bytes, last: bool) -> None:
    content = ending.join([b"a\tb", b"", b"c\td"]) + (ending if last else b"")
    (tmp_path / "a.txt").write_bytes(content)
    assert read_pairs(tmp_path / "a.txt") == [("a", "b"), ("c", "d")]
    (tmp_path / "a.txt").write_bytes(content.replace(b"\td", b" d"))
    with pytest.raises(DataError, match="line 3: 1 columns"):
        read_pairs(tmp_path / "a.txt")


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
def test_a_file_without_a_pair_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.txt: has no pairs; expected two sentences per line"):
        read_pairs(tmp_path / "a.txt")


def test_a_file_that_is_not_there_or_cut_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.txt is not a file"):
        read_pairs(tmp_path / "nothing.txt")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TEXT)[:-9])
    with pytest.raises(DataError, match=r"cut.gz, after line \d+: does not decompress"):
        read_pairs(tmp_path / "cut.gz")


sentences = st.lists(
    st.tuples(st.text(max_size=3), st.text(max_size=3)), min_size=30, max_size=80
).filter(lambda found: len({english for english, _ in found}) >= 12)


@given(sentences, st.integers(), st.randoms(use_true_random=False))
def test_no_sentence_is_in_two_parts_and_none_is_lost(
    found: list[tuple[str, str]], seed: int, random: Any
) -> None:
    parts = split_by(found, fractions=(0.5, 0.25, 0.25), seed=seed)
    assert sorted(item for part in parts for item in part) == sorted(found)
    keys = [{english for english, _ in part} for part in parts]
    assert not keys[0] & keys[1] | keys[0] & keys[2] | keys[1] & keys[2]
    total = len(set().union(*keys))
    for part, fraction in zip(keys, (0.5, 0.25, 0.25), strict=True):
        assert abs(len(part) - fraction * total) <= 1
    shuffled = random.sample(found, len(found))
    again = split_by(shuffled, fractions=(0.5, 0.25, 0.25), seed=seed)
    assert [{english for english, _ in part} for part in again] == keys


def test_the_split_is_the_same_on_every_machine_and_another_for_another_seed() -> None:
    items = [(f"sentence {k}", str(k)) for k in range(20)]
    held_out = [[int(k) for _, k in split_by(items, seed=seed)[2]] for seed in (0, 1)]
    assert held_out == [[4, 16], [10, 15]]  # worked out once; must never change


def test_items_may_be_split_by_any_key() -> None:
    records = [{"focus": f"disease {k % 7}", "id": k} for k in range(50)]
    parts = split_by(records, key=lambda record: str(record["focus"]), fractions=(0.5, 0.5))
    one, two = ({record["focus"] for record in part} for part in parts)
    assert not one & two


@pytest.mark.parametrize(
    ("items", "fractions", "message"),
    [
        ([("a", "b")] * 9, (0.5, 0.5), "1 distinct keys leave a part empty"),
        ([("a", "b"), ("c", "d")], (0.5, 0.4), "sum to 1"),
        ([("a", "b"), ("c", "d")], (1.5, -0.5), "positive"),
        ([(1, 2)], (1.0,), "returns str"),
    ],
)
def test_a_split_that_cannot_be_is_an_error(items: Any, fractions: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        split_by(items, fractions=fractions)


# --- batches

token_lists = st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=9), min_size=1)


@given(token_lists, st.integers(9, 40), st.integers(0, 5), st.integers(1, 3))
def test_an_epoch_holds_every_item_once_within_the_budget(
    items: list[list[int]], max_tokens: int, seed: int, epochs: int
) -> None:
    numbered = [[k, *tokens[1:]] for k, tokens in enumerate(items)]
    batches = BucketBatches(
        (numbered, [t[::-1] for t in numbered]), max_tokens=max_tokens, seed=seed, pad=-1
    )
    for _ in range(epochs):
        found = list(batches)
        assert len(found) == len(batches)
        seen = []
        for source, target in found:
            assert source.dtype == target.dtype == torch.int64
            assert source.numel() <= max_tokens
            assert (source != -1).any(dim=0).all(), "padded beyond the longest"
            for left, right in zip(source.tolist(), target.tolist(), strict=True):
                kept = [token for token in left if token != -1]
                assert left[len(kept) :] == [-1] * (len(left) - len(kept)), "pads come last"
                assert [token for token in right if token != -1] == kept[::-1]
                seen.append(kept)
        assert sorted(seen) == sorted(numbered)


@given(token_lists, st.integers(9, 40), st.integers(0, 60))
def test_a_restored_place_gives_the_batches_that_would_have_come(
    items: list[list[int]], max_tokens: int, steps: int
) -> None:
    def endless(batches: BucketBatches) -> Iterator[list[list[int]]]:
        while True:
            for (batch,) in batches:
                yield batch.tolist()

    first = BucketBatches(items, max_tokens=max_tokens, seed=3)
    running = endless(first)
    for _ in range(steps):
        next(running)
    state = json.loads(json.dumps(first.state_dict()))
    second = BucketBatches(items, max_tokens=max_tokens, seed=0)
    second.load_state_dict(state)
    resumed = endless(second)
    for _ in range(2 * len(first) + 1):
        assert next(resumed) == next(running)


def test_epochs_and_seeds_differ_and_like_lengths_stand_together() -> None:
    items = [[k] * (1 + k % 20) for k in range(400)]
    batches = BucketBatches(items, max_tokens=64, seed=1)
    one, two = (torch.cat([b.flatten() for (b,) in batches]).tolist() for _ in range(2))
    assert one != two
    again = BucketBatches(items, max_tokens=64, seed=1)
    assert torch.cat([b.flatten() for (b,) in again]).tolist() == one
    other = BucketBatches(items, max_tokens=64, seed=2)
    assert torch.cat([b.flatten() for (b,) in other]).tolist() != one
    lengths = [batch.shape[1] for (batch,) in again]
    assert lengths != sorted(lengths)
    padding = sum(b.numel() for (b,) in again) / sum(map(len, items)) - 1
    assert padding < 0.05


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "data: empty"),
        (([[1]], []), "data: empty"),
        (([[1]], [[1], [2]]), "equally many"),
        ([[1], []], "sequence 1 of list 0 is empty"),
        (([[1]], [torch.tensor([], dtype=torch.int64)]), "sequence 0 of list 1"),
        ([[1, 2], [1] * 11], "item 1 has 11 tokens, more than max_tokens=10"),
        ([[1.5]], "expected token ids"),
        ([["a"]], "non-token ids"),
        ([1, 2], "sequence 0 of list 0 is 1"),
        (["abc"], "sequence 0 of list 0 is 'abc'"),
    ],
)
def test_data_that_cannot_be_batched_is_an_error(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        BucketBatches(data, max_tokens=10)


def test_a_place_in_other_data_is_refused() -> None:
    state = BucketBatches([[1], [2]], max_tokens=10).state_dict()
    with pytest.raises(DataError, match="tokens=2, here it is 3"):
        BucketBatches([[1], [2, 3]], max_tokens=10).load_state_dict(state)
    with pytest.raises(DataError, match="max_tokens=10, here it is 9"):
        BucketBatches([[1], [2]], max_tokens=9).load_state_dict(state)
    with pytest.raises(DataError, match="no 'seed'"):
        BucketBatches([[1], [2]], max_tokens=10).load_state_dict({})
    with pytest.raises(DataError, match="no batch 7"):
        BucketBatches([[1], [2]], max_tokens=10).load_state_dict(state | {"index": 7})


# --- the real files


MIRRORED = [name for name in registry() if name not in PUBLISHED_AS_FILES]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.data(n)) for n in MIRRORED])
def test_the_real_files_are_the_registered_ones(name: str) -> None:
    here = [found for found in verify(name) if not found[2].startswith("not here")]
    assert here  # a cache may hold some of the files only
    assert [message for _, good, message in here if not good] == []


@pytest.mark.data("tatoeba_eng_fra")
def test_the_real_pairs() -> None:
    found = pairs()
    assert len(found) == get("tatoeba_eng_fra").rows["pairs"] == 167_130
    as_filed = pairs(seed=None)
    assert as_filed[0] == ("Go.", "Va !")
    assert sorted(found) == sorted(as_filed)
    parts = split_by(found)
    english = [{left for left, _ in part} for part in parts]
    assert sum(map(len, english)) == len(set().union(*english)) == 116_830


def assert_a_slice_is_a_sample(values: list[int], name: str = "") -> None:
    """The mean of the first values is that of all: four standard errors at most apart."""
    for n in (len(values) // 64, len(values) // 16, len(values) // 4):
        off = statistics.mean(values[:n]) - statistics.mean(values)
        assert abs(off) < 4 * statistics.pstdev(values) / n**0.5, f"{name}: the first {n}"


def assert_slices_are_samples(found: list[tuple[str, str]]) -> None:
    """The first part of the pairs has the lengths of all."""
    for side in zip(*found, strict=True):
        assert_a_slice_is_a_sample([len(text.split()) for text in side])


KINDS = ("weblog", "newsgroup", "email", "reviews", "answers")


def assert_all_kinds_are_in_slices(found: list[Any], as_filed: list[Any], part: str) -> None:
    """Slices of sentences or documents have the kinds of text and the lengths of the whole.

    What the file has twice, in texts of two kinds, is of the kind that comes last.
    """
    path = fetch("ud_english_ewt", f"en_ewt-ud-{part}.conllu.gz")
    mark = "# newdoc id = " if isinstance(as_filed[0], list) else "# sent_id = "
    lines = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
    kinds = [line.removeprefix(mark).split("-")[0] for line in lines if line.startswith(mark)]
    assert set(kinds) == set(KINDS)
    kind_of = {str(item): kind for item, kind in zip(as_filed, kinds, strict=True)}
    assert sorted(map(str, found)) == sorted(map(str, as_filed))
    for kind in KINDS:
        assert_a_slice_is_a_sample([int(kind_of[str(item)] == kind) for item in found], kind)
    assert_a_slice_is_a_sample([len(item) for item in found], "length")


def test_a_slice_of_a_sorted_file_is_a_sample(tmp_path: Path) -> None:
    words = ["one", "two", "three", "four"] * 10
    lines = [
        " ".join(words[: 1 + k // 100]) + f"\tde {'mot ' * (1 + k // 90)}{k}" for k in range(3200)
    ]
    (tmp_path / "sorted.txt").write_text("\n".join(lines), encoding="utf-8")
    found = read_pairs(tmp_path / "sorted.txt")
    assert_slices_are_samples(found)
    assert found == read_pairs(tmp_path / "sorted.txt", seed=0)
    assert found != read_pairs(tmp_path / "sorted.txt", seed=1)
    with pytest.raises(AssertionError, match="the first 50"):
        assert_slices_are_samples(read_pairs(tmp_path / "sorted.txt", seed=None))


@pytest.mark.data("tatoeba_eng_fra", "tatoeba_retrieval")
def test_a_slice_of_the_real_pairs_is_a_sample() -> None:
    for part in split_by(pairs()):
        assert_slices_are_samples(part)
    for language in ("deu", "nld"):
        assert_slices_are_samples(retrieval_pairs(language))


@pytest.mark.data("ud_english_ewt", "wnut17")
@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_a_slice_of_the_web_texts_has_all_their_kinds(part: str) -> None:
    for read in (treebank, web_documents):
        as_filed: list[Any] = read(part, seed=None)  # type: ignore[operator]
        assert_all_kinds_are_in_slices(read(part), as_filed, part)  # type: ignore[operator]
        assert read(part) == read(part, seed=0) != read(part, seed=1)  # type: ignore[operator]
        with pytest.raises(AssertionError, match="weblog: the first"):
            assert_all_kinds_are_in_slices(as_filed, as_filed, part)


@pytest.mark.data("ud_english_ewt", "wnut17")
def test_a_slice_of_tagged_words_is_a_sample() -> None:
    for rows, tree_rows in zip(parts_of_speech(), map(treebank, ("train", "test")), strict=True):
        assert [tuple(row.words) for row in rows] == [tree.words for tree in tree_rows]
    for rows in entities():
        for name in ("words", "names"):
            here = [
                len(row.words) if name == "words" else len(set(row.tags) - {"O"}) for row in rows
            ]
            assert_a_slice_is_a_sample(here, name)


@pytest.mark.data("tatoeba_retrieval")
def test_the_real_pairs_of_other_languages() -> None:
    known = retrieval_languages()
    assert len(known) == 112
    assert sum(known.values()) == 88_877
    german = retrieval_pairs("deu")
    assert len(german) == known["deu"] == 1_000
    assert all(left and right for left, right in german)
    with pytest.raises(DataError, match=r"did you mean .*deu"):
        retrieval_pairs("de")

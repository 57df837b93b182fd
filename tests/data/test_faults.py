"""Full disks, unreadable files, archives and bodies made to harm, passwords, waiting for a lock."""

from __future__ import annotations

import base64
import importlib
import io
import resource
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner
from disk import forbid, full_after
from lock_holder import holder
from lying_server import Answer, LyingServer
from toy_data import BODY, TEXT, archived, entry, get_toy, packed_zip

from deepdive.data import DataError, DataRefused, fetch, verify, where
from deepdive.data.parts import Parts
from deepdive_book import cli


def test_a_full_disk_is_named_and_leaves_nothing(toy: Path, server: LyingServer) -> None:
    server.say("body", Answer(BODY))
    with (
        full_after(20_000),
        pytest.raises(DataError, match=f"DEEPDIVE_CACHE: cannot write in {toy.parent} .*room"),
    ):
        get_toy()
    assert [path.name for path in toy.parent.rglob("*")] == [".source"]
    assert get_toy().read_bytes() == BODY


def test_a_full_disk_keeps_no_half_copy(
    mirror: Path, register: Callable[..., None], server: LyingServer, cache: Path
) -> None:
    register(
        entry("body.bin", BODY),
        entry("text.txt.gz", TEXT, server.say("text", Answer(TEXT))),
    )
    mirror.write_bytes(BODY)
    with full_after(20_000), pytest.raises(DataError, match="DEEPDIVE_CACHE: cannot write"):
        fetch("toy", progress=False)
    assert sorted(path.name for path in (cache / "toy").iterdir()) == [".source", "text.txt.gz"]


@pytest.mark.parametrize("file", ["body.bin", "text.txt.gz"])
def test_an_unreadable_file_of_the_mirror_is_one_refused_file(
    mirror: Path,
    register: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
) -> None:
    register(entry(file, BODY))
    path = mirror.with_name(file)
    path.write_bytes(BODY)
    forbid(monkeypatch, path)
    reason = "it cannot be read .Permission denied"
    with pytest.raises(DataRefused, match=f"{path}: refused, {reason}.*Replace it in the mirror"):
        fetch("toy")
    with pytest.warns(UserWarning, match=f"{path}: refused, {reason}"):
        assert where("toy") is None
    ((_, good, said),) = verify("toy")
    assert not good
    assert "it cannot be read" in said
    with pytest.warns(UserWarning, match=reason):
        assert CliRunner().invoke(cli.main, ["data", "list"]).exit_code == 0
    done = CliRunner().invoke(cli.main, ["data", "verify", "toy"])
    assert done.exit_code == 1
    assert done.output.startswith(f"NO toy/{file}: ")


def test_an_unreadable_file_of_the_cache_is_replaced(
    toy: Path, server: LyingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.say("body", Answer(BODY))
    toy.parent.mkdir(parents=True)
    toy.write_bytes(BODY)
    with monkeypatch.context() as inside:
        forbid(inside, toy)
        with pytest.warns(UserWarning, match="it cannot be read"):
            get_toy()
    assert toy.read_bytes() == (toy.parent / ".body.bin.refused").read_bytes() == BODY
    assert len(server.log) == 1


@pytest.mark.parametrize("file", ["body.bin", "body.gz"])
def test_no_more_is_read_from_a_mirror_than_is_registered(
    register: Callable[..., None],
    server: LyingServer,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
) -> None:
    register(entry(file, BODY))
    monkeypatch.setenv("DEEPDIVE_MIRROR", server.address)
    server.say(f"toy/{file}", Answer(BODY * 40, says_length=False))
    with pytest.raises(DataRefused, match=r"refused, more than the 6\d,\d{3} bytes expected"):
        get_toy(file)
    assert not list(cache.rglob("*body*"))


# --- archives


def patched(archive: bytes, offsets: dict[bytes, int], value: bytes) -> bytes:
    """The archive with `value` at an offset behind each of its signatures."""
    changed = bytearray(archive)
    for signature, offset in offsets.items():
        start = changed.index(signature) + offset
        changed[start : start + len(value)] = value
    return bytes(changed)


LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
PACKED = packed_zip({"text": TEXT})
ODD = {
    "a password": (patched(PACKED, {LOCAL: 6, CENTRAL: 8}, b"\x01\x00"), "password required"),
    "an unknown method": (
        patched(PACKED, {LOCAL: 8, CENTRAL: 10}, b"\x63\x00"),
        "compression method is not supported",
    ),
    "a size that is too small": (
        patched(PACKED, {CENTRAL: 24}, b"\x07\x00\x00\x00"),
        "cannot be unpacked .Bad CRC-32",
    ),
}


@pytest.mark.parametrize(("content", "reason"), ODD.values(), ids=ODD.keys())
def test_an_archive_that_cannot_be_unpacked_is_named_and_not_kept(
    register: Callable[..., None], server: LyingServer, cache: Path, content: bytes, reason: str
) -> None:
    register(entry("text.txt", TEXT, **archived(server, content, "member", "text")))
    with pytest.raises(DataRefused, match=f"pack: .*{reason}"):
        get_toy("text.txt")
    assert not [path for path in cache.rglob("*") if path.is_file() and path.name != ".lock"]
    server.say("pack", Answer(PACKED))
    assert get_toy("text.txt").read_bytes() == TEXT


def test_a_bomb_that_says_it_is_small_is_not_unpacked(tmp_path: Path) -> None:
    bomb = packed_zip({"text": bytes(200_000_000)})
    (tmp_path / "pack").write_bytes(patched(bomb, {CENTRAL: 24}, b"\x07\x00\x00\x00"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataRefused):
        Parts({"pack": tmp_path / "pack"}).member("text")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # in KiB


# --- passwords


SECRET = "p/w@1:#"
WRITTEN = "xaver:p%2Fw%401%3A%23"


@pytest.fixture
def secret_mirror(server: LyingServer, monkeypatch: pytest.MonkeyPatch) -> LyingServer:
    """A mirror that is asked with a name and a password."""
    address = server.address.replace("//", f"//{WRITTEN}@")
    monkeypatch.setenv("DEEPDIVE_MIRROR", f"{address}/m/")
    return server


def test_a_mirror_may_ask_for_a_password(toy: Path, secret_mirror: LyingServer) -> None:
    secret_mirror.say("m/toy/body.bin", Answer(BODY))
    assert get_toy() == toy
    login = base64.b64encode(f"xaver:{SECRET}".encode()).decode()
    assert secret_mirror.logins == [f"Basic {login}"]


def told(work: Callable[[], object]) -> str:
    """All that a failure says, and all that can be read off it: chain, arguments, attributes."""
    with pytest.raises(DataError) as caught:
        work()
    said, error = [], caught.value
    while error is not None:
        said += [repr(error), str(error), repr(error.args), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return "\n".join([*said, *traceback.format_exception(caught.value)])


@pytest.mark.parametrize(
    "answer", [Answer(b"other"), Answer(status=404), Answer(status=500), Answer(drop_after=0)]
)
@pytest.mark.filterwarnings("ignore:the mirror did not give")
def test_a_password_is_never_shown(
    toy: Path, secret_mirror: LyingServer, cache: Path, answer: Answer
) -> None:
    secret_mirror.say("m/toy/body.bin", answer)
    secret_mirror.say("body", Answer(status=404))
    said = [told(get_toy), repr(importlib.import_module("deepdive").data)]
    said += [str(importlib.import_module("deepdive.data").mirror())]
    said += [path.read_text("latin-1") for path in cache.rglob("*") if path.is_file()]
    said += [CliRunner().invoke(cli.main, ["data", "fetch", "toy"]).output]
    assert f"{secret_mirror.address}/m" in said[0] + said[-1]
    for text in said:
        assert "xaver" not in text
        assert "p%2F" not in text
        assert SECRET not in text


@pytest.mark.parametrize(
    "setting",
    [
        "http://xaver:s3cret/x@host/data",
        "http://xaver:12/s3cret@host/data",
        "http://xaver:s3#cret@host/data",
        "http://xaver:s3cret@host:port/data",
        "http://xaver:s3cret@[::1/data",
        "http://xaver:s3cret@",
        "ftp://xaver:s3cret@host/data",
    ],
)
def test_a_password_that_spoils_its_address_is_not_shown(
    toy: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv("DEEPDIVE_MIRROR", setting)
    said = told(get_toy)
    assert "DEEPDIVE_MIRROR: " in said
    for word in ("xaver", "s3", "cret", "12"):
        assert word not in said.split("Traceback")[0]


def test_a_redirection_is_not_told_the_password(toy: Path, secret_mirror: LyingServer) -> None:
    away = secret_mirror.say("away", Answer(BODY)).replace("127.0.0.1", "localhost")
    secret_mirror.say("m/toy/body.bin", Answer(status=302, location=away))
    assert get_toy().read_bytes() == BODY
    assert [bool(login) for login in secret_mirror.logins] == [True, False]


# --- locks


def test_a_fetch_that_waits_for_another_says_so(
    toy: Path, server: LyingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.say("body", Answer(BODY))
    toy.parent.mkdir(parents=True)
    # Not capfd: a letter that is written while it is read is lost.
    monkeypatch.setattr("sys.stderr", said := io.StringIO())
    with holder(toy.parent / ".lock") as other, ThreadPoolExecutor(1) as pool:
        fetched = pool.submit(get_toy)
        while "waiting" not in said.getvalue():
            time.sleep(0.01)
        other.kill()  # a dead holder holds nothing
        assert fetched.result() == toy
    holds = f"DEEPDIVE_CACHE: {toy.parent} is in use by process {other.pid} on "
    assert holds in said.getvalue()
    assert len(server.log) == 1

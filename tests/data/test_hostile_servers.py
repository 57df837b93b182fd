"""What a server may answer that is no answer: a named error, one line, with the address."""

from __future__ import annotations

import re
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from fault import fault
from lying_server import Answer, LyingServer

from deepdive.data import DataUnavailable
from deepdive.data.download import Policy, _proxy, _range, _said, download

QUICK = Policy(timeout=0.4, tries=2, wait=0.0)


def taken(_: Path) -> str | None:
    """Take whatever came."""


class Response:
    """The headers of an answer."""

    def __init__(self, status: int, **headers: str) -> None:
        self.status, self.headers = status, Message()
        for name, value in headers.items():
            self.headers[name.replace("_", "-")] = value


@fault(
    "A server's numbers are none",
    made="a length of superscripts, of 5,000 digits, a range that begins at Arabic digits",
    happens="the header counts as if it were not there",
    kept="the download",
)
@pytest.mark.parametrize("number", ["¹²", "9" * 5000, "٣", "-3", "1e3", ""])
def test_numbers_that_are_none_are_not_believed(number: str) -> None:
    answer: Any = Response(200, Content_Length=number)
    assert _range(answer) == (0, None)
    answer = Response(206, Content_Range=f"bytes {number}-5/9")
    assert _range(answer) == (-1, None)
    answer = Response(206, Content_Range=f"bytes 3-5/{number}")
    assert _range(answer) == (3, None)


@fault(
    "A server sends its readers to what is no address",
    made="a redirection to http://[::1, or to a host of 300 letters",
    happens="DataUnavailable with the address that was asked for",
    kept="what had arrived before",
)
@pytest.mark.parametrize("where", ["http://[::1", f"http://{'a' * 300}/x"])
def test_a_redirection_to_no_address_is_named(
    where: str, server: LyingServer, tmp_path: Path
) -> None:
    address = server.say("data", Answer(status=302, location=where))
    with pytest.raises(DataUnavailable, match=r"/data: .*no address"):
        download(address, tmp_path / "data", taken, progress=False, policy=QUICK)


def test_what_a_server_says_does_not_reach_the_terminal_as_orders() -> None:
    said = _said(ValueError("Not \x1b[2Jfound\u202e all files verified\r\n\x9b1m é"))
    assert said == "Not ?[2Jfound? all files verified???1m é"
    assert len(_said(ValueError("x" * 5000))) == 200


@fault(
    "A server that sends a byte now and then, for ever",
    made="a piece of the file every tenth of a second, each within the longest silence",
    happens="given up, with how much had come in how long",
    kept="the bytes that had come",
)
def test_a_drip_ends(server: LyingServer, tmp_path: Path) -> None:
    slow = Policy(timeout=0.3, tries=1, wait=0.0, slowest=1e9)
    address = server.say("drip", Answer(body=b"x" * 4096 * 50, pause=0.1))
    with pytest.raises(DataUnavailable, match=r"only [\d,]+ bytes came in \d+ s"):
        download(address, tmp_path / "drip", taken, progress=False, policy=slow)
    assert (tmp_path / ".drip.part").stat().st_size >= 4096


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("http://someone:secret@127.0.0.1:9", r"through the proxy http://127\.0\.0\.1:9, which"),
        (
            "socks5://127.0.0.1:9",
            r"socks5://127\.0\.0\.1:9, a kind that .* use",
        ),
    ],
)
def test_a_proxy_that_does_not_answer_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, setting: str, named: str
) -> None:
    for name in ("https_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", setting)
    found = _proxy("https://data.example/a.txt")
    assert re.search(named, found)
    assert "secret" not in found
    assert "HTTPS_PROXY" in found
    monkeypatch.setenv("no_proxy", "data.example")
    assert _proxy("https://data.example/a.txt") == ""

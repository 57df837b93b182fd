"""What a server may answer that is no answer: a named error, one line, with the address."""

from __future__ import annotations

from pathlib import Path

import pytest
from lying_server import Answer, LyingServer

from deepdive.data import DataError
from deepdive.data.download import _printable, download


@pytest.mark.parametrize("where", ["http://[::1", f"http://{'a' * 300}/x"])
def test_a_redirection_to_no_address_is_named(
    where: str, server: LyingServer, tmp_path: Path
) -> None:
    address = server.say("data", Answer(status=302, location=where))
    with pytest.raises(DataError, match=f"^{address}: "):
        download(address, tmp_path / "data", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_what_a_server_says_does_not_reach_the_terminal_as_orders() -> None:
    said = _printable(ValueError("Not \x1b[2Jfound\u202e all files verified\r\n\x9b1m \u00e9"))
    assert said == "Not ?[2Jfound? all files verified???1m \u00e9"
    assert len(_printable(ValueError("x" * 5000))) == 500

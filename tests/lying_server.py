"""An http server on this machine that is slow, drops, lies or changes its mind, as it is told."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """How one request is answered. The last answer given for a path is repeated for ever."""

    body: bytes = b""
    status: int = 200
    length: int | str | None = None  # what Content-Length claims, if not the truth
    says_length: bool = True
    drop_after: int | None = None  # bytes of the body before the connection breaks
    stall_after: int | None = None  # bytes of the body before nothing more comes
    location: str = ""  # where a redirection leads
    pause: float = 0.0  # seconds between pieces of 4 KiB


class LyingServer:
    """`answers[path]` is the list of answers to come; `log` holds the path of each request,
    `logins` its Authorization header."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.answers: dict[str, list[Answer]] = {}
        self.log: list[str] = []
        self.logins: list[str | None] = []
        self.closing = threading.Event()

    def say(self, path: str, *answers: Answer) -> str:
        """Answer requests for `path` so; returns its address."""
        self.answers[f"/{path}"] = list(answers)
        return f"{self.address}/{path}"


@contextmanager
def lying_server() -> Iterator[LyingServer]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    http.daemon_threads = True
    server = http.lying = LyingServer(f"http://127.0.0.1:{http.server_port}")  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        http.shutdown()
        http.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        server: LyingServer = self.server.lying  # type: ignore[attr-defined]
        server.log.append(self.path)
        server.logins.append(self.headers.get("Authorization"))
        answers = server.answers.get(self.path, [Answer(status=404)])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        with contextlib.suppress(ConnectionError):
            self._answer(answer)
        self.close_connection = True

    def _answer(self, answer: Answer) -> None:
        body = answer.body if answer.status == 200 else b""
        self.send_response(answer.status)
        if answer.location:
            self.send_header("Location", answer.location)
        if answer.says_length:
            claimed = len(body) if answer.length is None else answer.length
            self.send_header("Content-Length", str(claimed))
        self.send_header("Connection", "close")
        self.end_headers()
        self._send(answer, body)

    def _send(self, answer: Answer, body: bytes) -> None:
        stops = [stop for stop in (answer.drop_after, answer.stall_after) if stop is not None]
        body = body[: min([len(body), *stops])]
        for place in range(0, len(body), 4096):
            self.wfile.write(body[place : place + 4096])
            self.wfile.flush()
            time.sleep(answer.pause)
        if answer.stall_after is not None:
            self.server.lying.closing.wait(30)  # type: ignore[attr-defined]
        elif answer.drop_after is not None:
            self.connection.shutdown(socket.SHUT_RDWR)

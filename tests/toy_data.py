"""A registered data set of one's own, its files and archives, for the tests of `deepdive.data`."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from lying_server import Answer, LyingServer

from deepdive.data import fetch

BODY = hashlib.shake_256(b"body").digest(60_000)
OTHER = hashlib.shake_256(b"other").digest(60_000)
TEXT = b"Go.\tVa !\nHi.\tSalut !\n" * 40

Entry = dict[str, Any]


def entry(file: str, content: bytes, address: str = "", **more: Any) -> Entry:
    """A file of the registry that is its one part, as registry.json writes it."""
    inner: Entry = {}
    if file.endswith(".gz"):
        inner = {"content_bytes": len(content), "content_sha256": sha256(content)}
    staged = gzip.compress(content, 1, mtime=0) if inner else content
    part = {"path": address, "bytes": len(content), "sha256": sha256(content)}
    made = {"parts": [part], "recipe": "copy"} if address else {"by_hand": "From elsewhere."}
    return {"file": file, "bytes": len(staged), "sha256": sha256(staged), **inner, **made, **more}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def get_toy(file: str = "body.bin") -> Path:
    return fetch("toy", file, progress=False)


def packed_zip(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def packed_tar(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"repo-0123/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def archived(server: LyingServer, content: bytes, recipe: str, *arguments: str) -> Entry:
    """What a file made from the archive at /pack adds to its registered entry."""
    part = {"path": server.say("pack", Answer(content))}
    return {"parts": [part], "recipe": recipe, "arguments": list(arguments)}

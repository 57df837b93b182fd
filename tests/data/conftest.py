"""A server of one's own, an empty cache, and a registered data set `toy` to be had from it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from lying_server import LyingServer, lying_server
from toy_data import BODY, Entry, entry


@pytest.fixture
def server() -> Iterator[LyingServer]:
    with lying_server() as running:
        yield running


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """pooch tries again at once."""
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no mirror."""
    monkeypatch.setenv("DEEPDIVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DEEPDIVE_MIRROR", "")
    return tmp_path / "cache"


@pytest.fixture
def register(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a data set of these files, named `toy`, in place of the registry."""
    module = importlib.import_module("deepdive.data.registry")
    said = json.loads(Path(module.__file__).with_name("registry.json").read_text("utf-8"))

    def put(*files: Entry) -> None:
        toy = module._dataset({**said["datasets"][0], "name": "toy", "files": list(files)})
        monkeypatch.setattr(module, "_load", lambda: {"toy": toy})

    return put


@pytest.fixture
def toy(register: Callable[..., None], server: LyingServer, cache: Path) -> Path:
    """A data set `toy` of one file `body.bin` that the server has; the path it will get."""
    register(entry("body.bin", BODY, f"{server.address}/body"))
    return cache / "toy" / "body.bin"


@pytest.fixture
def mirror(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of `toy/body.bin` in a mirror folder that is set."""
    monkeypatch.setenv("DEEPDIVE_MIRROR", str(tmp_path / "mirror"))
    (tmp_path / "mirror" / "toy").mkdir(parents=True)
    return tmp_path / "mirror" / "toy" / "body.bin"

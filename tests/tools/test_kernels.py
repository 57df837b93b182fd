"""Kernels that are forked for nbval: like any other to Jupyter, and none outlives its client."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

sys.path.insert(0, str(ROOT / "tools"))
import kernels


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kernels.Server]:
    patch = pytest.MonkeyPatch()
    with kernels.Server(tmp_path_factory.mktemp("k"), dict(os.environ), ["json"]) as server:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server
    patch.undo()
    assert server.process.returncode is not None


@pytest.fixture
def kernel(
    server: kernels.Server, tmp_path: Path
) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager = KernelManager(kernel_name=kernels.NAME)
    manager.start_kernel(cwd=str(tmp_path), env={**os.environ, "OWN": "this one's"})
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield manager, client
    client.stop_channels()
    if manager.has_kernel:
        manager.shutdown_kernel(now=True)


def run(client: BlockingKernelClient, code: str, seconds: float = 30) -> tuple[str, str]:
    """What `code` prints, and its error's name."""
    printed: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    reply = client.execute_interactive(code, output_hook=hear, timeout=seconds)
    return "".join(printed), reply["content"].get("ename", "")


def gone(pid: int) -> bool:
    """Whether a process ends within ten seconds."""
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


def test_it_has_its_folder_its_environment_and_no_names(kernel: Any, tmp_path: Path) -> None:
    code = "import os; print(os.getcwd(), os.environ['OWN'], 'torch' in globals())"
    assert run(kernel[1], code) == (f"{tmp_path} this one's False\n", "")
    assert run(kernel[1], "print(kernels)")[1] == "NameError"
    assert run(kernel[1], "import kernels")[1] == "ModuleNotFoundError"


def test_what_one_does_another_does_not_see(kernel: Any, server: kernels.Server) -> None:
    run(kernel[1], "import json; json.own = 1")
    manager = KernelManager(kernel_name=kernels.NAME)
    manager.start_kernel(env=dict(os.environ))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    try:
        assert run(client, "import json; print(hasattr(json, 'own'))") == ("False\n", "")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_an_interrupt_stops_a_cell_and_a_shutdown_the_kernel(kernel: Any) -> None:
    manager, client = kernel
    pid = int(run(client, "import os; print(os.getpid())")[0])
    sent = client.execute("import time; time.sleep(600)")
    time.sleep(0.5)
    manager.interrupt_kernel()
    while (reply := client.get_shell_msg(timeout=30))["parent_header"].get("msg_id") != sent:
        pass
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    manager.shutdown_kernel(now=True)
    assert gone(pid)


def test_a_kernel_that_dies_is_seen(kernel: Any) -> None:
    manager, client = kernel
    client.execute("import os; os._exit(3)")
    for _ in range(100):
        if not manager.is_alive():
            break
        time.sleep(0.1)
    assert not manager.is_alive()


def test_without_a_server_it_fails_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ("long" * 40)  # a socket's path has at most 107 bytes
    with pytest.raises(RuntimeError, match="ended with"):
        kernels.Server(folder, dict(os.environ), ["json"]).__enter__()

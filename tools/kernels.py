"""Kernels for nbval that start in a tenth of a second: forked from one process that has torch.

`Server` starts that process and writes a Jupyter kernel, `deepdive-forked`, whose command is this
file as a client: it asks for a fork, passes signals on, and lives as long as the kernel does. A
page sees a fresh interpreter whose imports are quick; its own import lines still have to be there.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

NAME = "deepdive-forked"
ADDRESS = "DEEPDIVE_KERNELS"  # the socket's path, for the client
# What most pages import, or torch at the first optimizer. Nothing that starts a thread.
IMPORTS = (
    "ipykernel.kernelapp",
    "torch._dynamo",
    "deepdive_book.kit.profile",
    "deepdive_book.kit.plotting",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "pandas",
    "scipy.stats",
    "sklearn.linear_model",
    "transformers",
)


class Server:
    """The process to fork from, for the time of a `with`; `environment` is what pytest needs."""

    def __init__(self, folder: Path, env: dict[str, str], imports: Iterable[str] = IMPORTS) -> None:
        self.folder, self.env, self.imports = folder, env, imports
        self.address = folder / "kernels.sock"

    def __enter__(self) -> Server:
        spec = self.folder / "jupyter" / "kernels" / NAME / "kernel.json"
        spec.parent.mkdir(parents=True)
        command = [sys.executable, "-S", "-E", __file__, "{connection_file}"]
        spec.write_text(json.dumps({"argv": command, "display_name": NAME, "language": "python"}))
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", self.address, *self.imports], env=self.env
        )
        while not self.address.exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"{__file__} --serve ended with {self.process.returncode}")
            time.sleep(0.05)
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait()

    @property
    def environment(self) -> dict[str, str]:
        paths = [str(self.folder / "jupyter"), os.environ.get("JUPYTER_PATH", "")]
        joined = os.pathsep.join(path for path in paths if path)
        return {ADDRESS: str(self.address), "JUPYTER_PATH": joined}


# ---- the process to fork from


def serve(address: str, imports: Iterable[str]) -> None:
    """Fork a kernel for each client; kill it where its client is gone, tell the client its end."""
    import gc
    import importlib

    parent = os.getppid()
    for module in imports:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # else each kernel's collector walks, and so copies, all that was imported here
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{address}.new")
    listener.listen()
    os.rename(f"{address}.new", address)  # whoever sees the address can connect
    clients: dict[socket.socket, int] = {}
    with selectors.DefaultSelector() as waiting:
        waiting.register(listener, selectors.EVENT_READ)
        while os.getppid() == parent:
            for key, _ in waiting.select(timeout=0.1):
                if key.fileobj is listener:
                    client, _ = listener.accept()
                    clients[client] = _fork(client, [listener, *clients])
                    waiting.register(client, selectors.EVENT_READ)
                    continue
                client = key.fileobj  # type: ignore[assignment]
                asked = client.recv(1)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(clients[client], asked[0] if asked else signal.SIGKILL)
                if not asked:
                    waiting.unregister(client)
                    os.waitpid(clients.pop(client), 0)
                    client.close()
            for client, pid in list(clients.items()):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    waiting.unregister(client)
                    del clients[client]
                    with contextlib.suppress(OSError):
                        client.sendall(bytes([os.waitstatus_to_exitcode(status) & 255]))
                    client.close()


def _fork(client: socket.socket, others: list[socket.socket]) -> int:
    """Return the kernel's process: the client's folder, environment, and streams, and no socket."""
    message, descriptors, _, _ = socket.recv_fds(client, 1 << 20, 3)
    wanted = json.loads(message)
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        return pid
    for held in (client, *others):
        held.close()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.setsid()
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    sys.argv = ["ipykernel_launcher", "-f", wanted["connection"]]
    del sys.path[0]  # this file's folder; ipykernel puts the page's in front
    from ipykernel import kernelapp

    kernelapp.launch_new_instance()
    os._exit(0)


# ---- the client: what Jupyter takes for the kernel


def ask(connection: str) -> int:
    """Ask for a kernel, pass SIGINT and SIGTERM on to it, and return its exit code."""
    server = socket.socket(socket.AF_UNIX)
    server.connect(os.environ[ADDRESS])
    # Its parent is the server: Jupyter's number of the parent would make it end at once.
    env = {name: value for name, value in os.environ.items() if name != "JPY_PARENT_PID"}
    wanted = {"connection": connection, "cwd": os.getcwd(), "env": env}
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: server.sendall(bytes([number])))
    socket.send_fds(server, [json.dumps(wanted).encode()], [0, 1, 2])
    ended = server.recv(1)
    return ended[0] if ended else 1


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(ask(sys.argv[1]))

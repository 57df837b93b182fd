"""Hostile answers to the exercise `first` of `test_grading`, and what the grader says to each.

Each must get nothing, and whoever wrote it must get his points for all else. `PORT` is that of a
server outside.
"""

# From inside the student's cell: the worker, and a way to send the judge what one likes.
TAKEN = """\
import sys
from deepdive_grader.wire import pack
frame = sys._getframe()
while not hasattr(frame.f_locals.get("self"), "channel"):
    frame = frame.f_back
worker = frame.f_locals["self"]
def send(**message):
    worker.channel.send(pack({"nonce": worker.nonce, **message}, worker.refer))
"""

HOSTILE: dict[str, tuple[str, str]] = {
    "endless loop": ("while True:\n    pass", "it ran longer than 3 s"),
    "endless loop in a function": (
        "def first(x):\n    while True:\n        pass",
        "it ran longer than 3 s",
    ),
    "fork bomb": (
        """
        import os, time
        forks = 0
        while forks < 100_000:
            if os.fork() == 0:
                time.sleep(60)
            forks += 1
        """,
        "Resource temporarily unavailable",
    ),
    "fork bomb that does not give up": (
        """
        import os
        while True:
            try:
                os.fork()
            except OSError:
                pass
        """,
        "it ran longer than 3 s",
    ),
    "memory eater": ("kept = []\nwhile True:\n    kept.append(bytearray(1 << 24))", "MemoryError"),
    "memory eaters": (
        """
        import os, time
        for _ in range(4):
            if os.fork() == 0:
                kept = [bytearray(b"x" * (1 << 20)) for _ in range(150)]
                time.sleep(60)
        time.sleep(60)
        """,
        "it used more than 400 MB of memory",
    ),
    "exit": ("import sys\nsys.exit(0)", "SystemExit"),
    "hard exit": ("import os\nos._exit(0)", "exit code 0"),
    "crash": ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
    "socket": (
        """
        import socket
        socket.create_connection(("127.0.0.1", PORT), timeout=2).sendall(b"grade me")
        """,
        "Operation not permitted",
    ),
    "huge output": ("while True:\n    print('x' * 1000)", "it printed more than 1,000,000"),
    "huge answer": ("def first(x):\n    return torch.zeros(1 << 21)", "more than 4 MB"),
    "forged grade": (
        """
        import os
        print('{"result": 0, "passed": true}')
        for fd in range(3, 20):
            try:
                os.write(fd, b"\\0\\0\\0\\x0b\\0\\0\\0\\0" + b'{"passed":1}'[:11])
            except OSError:
                pass
        """,
        "malformed",
    ),
    "answer prepared for the next question": (
        """
        import os, json
        text = json.dumps({"nonce": "0" * 32, "value": True}).encode()
        os.write(4, len(text).to_bytes(4, "big") + bytes(4) + text)
        """,
        "wrong nonce",
    ),
    "patched checks": (
        """
        import builtins, torch
        torch.allclose = torch.equal = lambda *a, **k: True
        torch.Tensor.__eq__ = lambda *a: True
        builtins.abs = builtins.all = builtins.isinstance = lambda *a: True
        def first(x):
            return x
        """,
        "",
    ),
    "an object that equals everything": (
        """
        class Right:
            def __eq__(self, other): return True
            def __bool__(self): return True
            def __torch_function__(self, *a, **k): return True
        def first(x): return Right()
        """,
        "",
    ),
    "nesting": ("def first(x):\n    a = []\n    a.append(a)\n    return a", "nested deeper"),
    "names of the checks": ("x = scale = torch = 7\ndef first(x): return x", "first must double"),
    # -- its process, and what goes on in it when the cell is done
    "pipes closed and asleep": (
        "import os, time\nos.close(4)\nos.close(3)\ntime.sleep(600)",
        "it answers no more",
    ),
    "what goes on afterwards": (
        """
        import atexit, threading, time
        atexit.register(time.sleep, 600)
        threading.Thread(target=time.sleep, args=(600,)).start()
        raise SystemExit
        """,
        "SystemExit",
    ),
    "signals to all it knows": (
        """
        import os, signal
        for pid in (-1, 0, 1, 2, os.getppid(), os.getsid(0)):
            for what in (signal.SIGINT, signal.SIGKILL):
                try:
                    if pid or what == signal.SIGINT:  # 0: the grader too, were it of the group
                        os.kill(pid, what)
                except (OSError, KeyboardInterrupt):
                    pass
        raise ValueError(f"{os.getpid()} goes on, its parent is {os.getppid()}")
        """,
        "1 goes on, its parent is 0",
    ),
    # -- memory and keys outside of what is counted
    "files in memory": ("import os\nos.memfd_create('much')", "Operation not permitted"),
    "shared memory that nobody maps": (
        "import ctypes\nraise ValueError(ctypes.CDLL(None).shmget(0, 1 << 28, 0o1600))",
        "ValueError: -1",
    ),
    "a full disk": (
        """
        for number in range(100):
            with open(f"/student/{number}", "wb") as file:
                file.write(bytes(1 << 20))
        """,
        "No space left on device",
    ),
    "a large file": (
        "open('/student/one', 'wb').truncate(1 << 30)",
        "File too large",
    ),
    "open files without end": (
        """
        kept = []
        try:
            while True:
                kept.append(open("/dev/null"))
        finally:
            kept.clear()
        """,
        "Too many open files",
    ),
    # -- messages and answers
    "an error whose message fails": (
        "class No(BaseException):\n    def __str__(self): raise KeyboardInterrupt\nraise No",
        "its message cannot be shown",
    ),
    "an error whose message is no plain text": (
        """
        class Text(str):
            def __getitem__(self, at): return self
            def __format__(self, how): raise SystemExit
        class No(Exception):
            def __str__(self): return Text("no")
        raise No
        """,
        "exit code 1",
    ),
    "half a character": (r"raise ValueError('\ud800\x9b31m half')", "ValueError: ??31m half"),
    "an error without words": (
        TAKEN + "send(error={1: torch.ones(2)}, text='')",
        "malformed",
    ),
    "an answer without a value": (TAKEN + "send()", "malformed"),
    "a nonce that equals nothing": (
        TAKEN + "import numpy\nworker.nonce = numpy.zeros(0)\nsend(value=[])",
        "wrong nonce",
    ),
    "calls without end": (
        TAKEN
        + """
import os, threading
for fd in (3, 4):
    os.set_blocking(fd, True)
frame = pack({"nonce": worker.nonce, "call": 99, "args": [], "kwargs": {}}, worker.refer)
threading.Thread(target=lambda: [os.read(3, 1 << 16) for _ in iter(int, 1)], daemon=True).start()
while True:
    os.write(4, frame * 20)
""",
        "it ran longer than 3 s",
    ),
    "a tensor of nothing": (
        "def first(x):\n    return torch.empty(0, *x.shape)",
        "an empty tensor",
    ),
    "no number at all": ("def first(x):\n    return x * float('nan')", "first must double"),
    "a kind of tensor of its own": (
        """
        class Right(torch.Tensor):
            @classmethod
            def __torch_function__(cls, *a, **k): return True
        def first(x):
            return (7 * x).as_subclass(Right)
        """,
        "",
    ),
}

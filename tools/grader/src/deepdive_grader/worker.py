"""The worker: runs what a student wrote, inside the sandbox, and answers the judge's calls.

It knows the student's own cells and the public ones, never a check. It holds objects that cannot be
sent (a function, a module) and gives the judge numbers for them; an object of the judge's comes as
a `Callback`, which can be called and nothing else.
"""

import io
import os
import sys
import types
from collections.abc import Callable
from itertools import islice
from typing import Any

from deepdive_book.course.assignment.limited import Limits
from deepdive_grader.sandbox import WITHHELD
from deepdive_grader.wire import Channel, WireError, pack, unpack

READ, WRITE = 3, 4  # the descriptors of the judge's pipes
LONGEST_TEXT = 2000
MOST_ITEMS = 100_000


class OutputError(RuntimeError):
    """A cell printed more than it may."""


class Bounded(io.TextIOBase):
    """Takes what is printed, keeps nothing, and refuses what is too much."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def write(self, text: str) -> int:
        self.left -= len(text)
        if self.left < 0:
            raise OutputError(f"it printed more than {self.limit:,} characters")
        return len(text)

    def writable(self) -> bool:
        return True


class Worker:
    """The names that the student's cells defined, and the objects that the judge may call."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.channel = Channel(READ, WRITE, limits.answer)
        self.module = types.ModuleType("__main__")
        sys.modules["__main__"] = self.module
        self.objects: list[Any] = []
        self.pid = os.getpid()
        self.nonce = ""

    def refer(self, value: Any) -> dict[str, int]:
        """Keep an object of the student's; the judge's own go home."""
        if isinstance(value, Callback):
            return {"yours": _number(value)}
        self.objects.append(value)
        return {"own": len(self.objects) - 1}

    def resolve(self, kind: str, number: int) -> Any:
        """The object behind a reference of the judge's."""
        if kind == "yours":
            return self.objects[number]
        return Callback(number, lambda args, kwargs: self.call_back(number, args, kwargs))

    def call_back(self, number: int, args: Any, kwargs: Any) -> Any:
        """Have the judge call an object of his, which may ask for more in the meantime."""
        nonce = self.nonce
        asked = {"nonce": nonce, "call": number, "args": list(args), "kwargs": kwargs}
        self.channel.send(pack(asked, self.refer))
        while "do" in (reply := unpack(self.channel.receive(), self.resolve)):
            self.answer(reply)
        self.nonce = nonce
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["value"]

    def serve(self) -> None:
        """Answer until the judge is gone."""
        while True:
            self.answer(unpack(self.channel.receive(), self.resolve))

    def answer(self, asked: dict[str, Any]) -> None:
        """Do what is asked, and send the outcome or the error."""
        self.nonce = asked["nonce"]
        sys.stdout = sys.stderr = Bounded(self.limits.output)
        answer: dict[str, Any]
        try:
            answer = {"value": getattr(self, f"do_{asked['do']}")(asked)}
            frame = pack({"nonce": asked["nonce"], **answer}, self.refer)
        except BaseException as error:
            answer = {"error": type(error).__name__, "text": describe(error)}
            frame = pack({"nonce": asked["nonce"], **answer}, self.refer)
        if os.getpid() != self.pid:
            os._exit(0)  # a fork of the student's has no say
        self.channel.send(frame)

    def do_run(self, asked: dict[str, Any]) -> list[str]:
        """Run a cell; return all names that are defined then."""
        exec(compile(asked["source"], "<your cell>", "exec"), vars(self.module))
        return [name for name in vars(self.module) if not name.startswith("__")]

    def do_get(self, asked: dict[str, Any]) -> Any:
        return vars(self.module)[asked["name"]]

    def do_call(self, asked: dict[str, Any]) -> Any:
        return self.objects[asked["object"]](*asked["args"], **asked["kwargs"])

    def do_attribute(self, asked: dict[str, Any]) -> Any:
        return getattr(self.objects[asked["object"]], asked["name"])

    def do_item(self, asked: dict[str, Any]) -> Any:
        return self.objects[asked["object"]][asked["key"]]

    def do_length(self, asked: dict[str, Any]) -> Any:
        return len(self.objects[asked["object"]])

    def do_items(self, asked: dict[str, Any]) -> Any:
        return list(islice(self.objects[asked["object"]], MOST_ITEMS))


class Withheld:
    """Says of a package that is not for students why it is not there."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == WITHHELD or name.startswith(f"{WITHHELD}."):
            raise ModuleNotFoundError(f"{name} is not there while you are graded", name=name)


class Callback:
    """An object of the grader's: it can be called with values and tensors, and nothing else."""

    __slots__ = ("__ask", "__number")

    def __init__(self, number: int, ask: Callable[[Any, Any], Any]) -> None:
        self.__number, self.__ask = number, ask

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__ask(args, kwargs)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the grader's objects can only be called; {name!r} is not there")


def _number(callback: Callback) -> int:
    return int(object.__getattribute__(callback, "_Callback__number"))


def describe(error: BaseException) -> str:
    """The message of an error, and the line of the student's cell where it arose."""
    try:
        text = str(error)[:LONGEST_TEXT]
    except BaseException:
        text = "(its message cannot be shown)"
    at, line = error.__traceback__, 0
    if isinstance(error, SyntaxError):
        line = error.lineno or 0
    while at is not None:
        if at.tb_frame.f_code.co_filename == "<your cell>":
            line = at.tb_lineno
        at = at.tb_next
    return f"{text} (line {line} of your cell)" if line else text


def run(limits: Limits) -> None:
    """Be the worker of one submission."""
    sys.meta_path.insert(0, Withheld)
    try:
        Worker(limits).serve()
    except WireError:
        return

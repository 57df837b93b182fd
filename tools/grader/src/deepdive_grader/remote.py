"""The judge's side of the worker: names that stand for what the student defined.

A check calls `attention(q, k, v, mask)` as if the function were here. What it calls is a `Remote`,
which sends the arguments to the worker with a fresh nonce and returns the answer. Nothing that
comes back can act: it is a value, a tensor, or again a `Remote`.
"""

import builtins
import secrets
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor

from deepdive_grader.meter import CROWDED, Allowance, Meter
from deepdive_grader.wire import MALFORMED, Channel, WireError, pack, unpack

# What a check may expect a student's code to raise; any other error comes as RuntimeError.
ERRORS = (
    "ArithmeticError", "AssertionError", "AttributeError", "IndexError", "KeyError", "LookupError",
    "NameError", "NotImplementedError", "OverflowError", "RuntimeError", "TypeError", "ValueError",
    "ZeroDivisionError",
)  # fmt: skip


WRONG_NONCE = "it answered what it was not asked (wrong nonce)"
FORGED = (WRONG_NONCE, MALFORMED)


class Broken(Exception):
    """The worker cannot be asked any more; the text says why."""


class Theirs(Exception):
    """Marks an error that was raised in the student's code; its text names the error's kind."""


class Session:
    """Asks one worker. After `broken` is set every question fails with it.

    `crowded` says that it was the clock on the wall that ended the asking, `forged` that the worker
    sent what no answer can be.
    """

    def __init__(self, channel: Channel, meter: Meter, patience: float) -> None:
        self.channel, self.meter, self.patience = channel, meter, patience
        self.allow(0.0)
        self.broken, self.crowded, self.forged = "", False, False
        self.own: list[Any] = []

    def allow(self, seconds: float) -> None:
        """Let all questions from now on, and what is done with the answers, take so long."""
        self.allowance = Allowance(seconds, self.patience, self.used)

    def used(self) -> float:
        """Seconds of processor time of worker and judge."""
        return self.meter.read() + time.process_time()

    def ask(self, do: str, **given: Any) -> Any:
        """Return the worker's answer.

        Raises:
            Broken: there is none: too late, too large, malformed, of another nonce, or no worker.
            Exception: what the student's code raised, by its name if that is in `ERRORS`.
        """
        if self.broken:
            raise Broken(self.broken)
        nonce = secrets.token_hex(16)
        try:
            self._send({"nonce": nonce, "do": do, **given})
            while True:
                message = self._heard(nonce)
                if "call" not in message:
                    break
                self._called(nonce, message)
        except WireError as error:
            self.crowded = str(error) == CROWDED
            self.forged = str(error) in FORGED
            self.broken = self.allowance.said(str(error))
            raise Broken(self.broken) from None
        if "value" not in message:
            raise _raised(message["error"], message["text"])
        if _empty(message["value"]):
            raise _raised("ValueError", "the answer holds an empty tensor")
        return message["value"]

    def _heard(self, nonce: str) -> dict[str, Any]:
        """The next message: a value, an error in words, or a call of the check's object."""
        message = unpack(self.channel.receive(self.allowance), self._resolve)
        given = message.get("nonce")
        if not isinstance(given, str) or given != nonce:
            raise WireError(WRONG_NONCE)
        words = isinstance(message.get("error"), str) and isinstance(message.get("text"), str)
        if not (words or {"value", "call"} & message.keys()):
            raise WireError(MALFORMED)
        return message

    def _send(self, message: dict[str, Any]) -> None:
        self.channel.send(pack(message, self._refer), self.allowance)

    def _called(self, nonce: str, message: dict[str, Any]) -> None:
        """The student calls an object of the check's."""
        answer: dict[str, Any]
        try:
            number, args, kwargs = message["call"], message["args"], message["kwargs"]
            answer = {"value": self.own[number](*args, **kwargs)}
            frame = pack({"nonce": nonce, **answer}, self._refer)
        except Broken:
            raise
        except Exception as error:
            frame = pack({"nonce": nonce, "error": f"{type(error).__name__}"}, self._refer)
        self.channel.send(frame, self.allowance)

    def _refer(self, value: Any) -> dict[str, int]:
        if isinstance(value, Remote):
            return {"yours": object.__getattribute__(value, "_number")}
        self.own.append(value)
        return {"own": len(self.own) - 1}

    def _resolve(self, kind: str, number: int) -> Any:
        return self.own[number] if kind == "yours" else Remote(self, number)


def _raised(name: str, text: str) -> Exception:
    kind: type[Exception] = getattr(builtins, name) if name in ERRORS else RuntimeError
    error = kind(text)
    error.__cause__ = Theirs(f"{name[:80]}: {text}")
    return error


def _empty(value: Any) -> bool:
    """Whether an answer holds a tensor without numbers: by `allclose` that equals any other."""
    if isinstance(value, Tensor):
        return value.numel() == 0
    if isinstance(value, np.ndarray):
        return value.size == 0
    if isinstance(value, dict):
        return any(map(_empty, value.values()))
    return isinstance(value, list | tuple | set) and any(map(_empty, value))


class Remote:
    """An object in the worker: called, asked for an attribute or item, run through."""

    __slots__ = ("_number", "_session")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, session: Session, number: int) -> None:
        self._session, self._number = session, number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._session.ask("call", object=self._number, args=list(args), kwargs=kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._session.ask("attribute", object=self._number, name=name)

    def __getitem__(self, key: Any) -> Any:
        return self._session.ask("item", object=self._number, key=key)

    def __len__(self) -> int:
        return int(self._session.ask("length", object=self._number))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._session.ask("items", object=self._number))

    def __bool__(self) -> bool:
        raise TypeError("the answer is an object of the student's, neither true nor false")

    def __eq__(self, other: object) -> bool:
        raise TypeError("the answer is an object of the student's, and compares with nothing")

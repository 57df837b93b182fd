"""What passes between judge and worker: frames of JSON and tensors (safetensors), never a pickle.

A frame is two lengths (4 bytes each), JSON, and the tensors that it names. None, booleans, finite
and other numbers, strings, lists, tuples, dicts, sets, slices, dtypes, tensors and numpy arrays are
sent by value. Everything else stays where it is and goes as a reference, a number that only its own
side can look up.
"""

import json
import os
import select
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from deepdive_grader.meter import Allowance

MALFORMED = "what it answered is malformed"
DEEPEST = 40
_LOOK = 0.1  # seconds between two looks at an allowance
LARGEST_INT = 2**63
_HEAD = struct.Struct(">II")
_DTYPES = {str(d): d for d in vars(torch).values() if isinstance(d, torch.dtype)}


class WireError(RuntimeError):
    """What came is no frame, or cannot be sent; the other side is gone, too slow, too talkative."""


def no_reference(*_: Any) -> Any:
    """Refuse to send what is no value, or to look one up."""
    raise TypeError("only values pass between the grader's own processes")


def pack(message: dict[str, Any], refer: Callable[[Any], dict[str, int]]) -> bytes:
    """Return a message as one frame; `refer` gives the reference for what is not sent by value."""
    tensors: dict[str, Tensor] = {}
    plain = {key: encode(value, tensors, refer) for key, value in message.items()}
    text = json.dumps(plain).encode()
    blob = save(tensors) if tensors else b""
    return _HEAD.pack(len(text), len(blob)) + text + blob


def unpack(frame: bytes, resolve: Callable[[str, int], Any]) -> dict[str, Any]:
    """Return the message of a frame; `resolve` looks references up. Raises WireError."""
    try:
        text, blob = _HEAD.unpack_from(frame)
        end = _HEAD.size + text
        plain = json.loads(frame[_HEAD.size : end])
        tensors = load(frame[end : end + blob]) if blob else {}
        return {str(key): decode(value, tensors, resolve) for key, value in plain.items()}
    except Exception as error:  # whatever broken bytes make of the readers
        raise WireError(MALFORMED) from error


def encode(
    value: Any, tensors: dict[str, Tensor], refer: Callable[[Any], dict[str, int]], depth: int = 0
) -> Any:
    """Return a value as JSON; its tensors are added to `tensors`. Raises WireError."""

    def inner(part: Any) -> Any:
        return encode(part, tensors, refer, depth + 1)

    if depth > DEEPEST:
        raise WireError(f"a value nested deeper than {DEEPEST} cannot be sent")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer | np.bool_):
        number = value.item() if isinstance(value, np.generic) else int(value)
        if abs(number) >= LARGEST_INT:
            raise WireError("an integer of 64 bits or more cannot be sent")
        return number
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, list):
        return [inner(part) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [inner(part) for part in value]}
    if isinstance(value, set | frozenset):
        return {"set": [inner(part) for part in value]}
    if isinstance(value, dict):
        return {"dict": [[inner(key), inner(part)] for key, part in value.items()]}
    if isinstance(value, slice):
        return {"slice": [inner(part) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": _keep(torch.from_numpy(value.copy()), tensors)}
    if isinstance(value, Tensor):
        return {"tensor": _keep(value, tensors)}
    return refer(value)


def _keep(value: Tensor, tensors: dict[str, Tensor]) -> str:
    if value.layout != torch.strided or value.is_meta or value.is_complex():
        raise WireError("only dense real tensors can be sent")
    name = str(len(tensors))
    tensors[name] = value.detach().as_subclass(Tensor).cpu().clone(
        memory_format=torch.contiguous_format
    )  # fmt: skip
    return name


def decode(value: Any, tensors: dict[str, Tensor], resolve: Callable[[str, int], Any]) -> Any:
    """Return the value of `encode`; any other JSON raises."""
    if isinstance(value, list):
        return [decode(part, tensors, resolve) for part in value]
    if not isinstance(value, dict):
        return value
    ((kind, given),) = value.items()
    if kind == "tensor":
        return tensors[given]
    if kind == "array":
        return tensors[given].numpy()
    if kind == "dtype":
        return _DTYPES[given]
    if kind in ("own", "yours"):
        return resolve(kind, int(given))
    parts = [decode(part, tensors, resolve) for part in given]
    made: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "set": set, "dict": dict}
    return slice(*parts) if kind == "slice" else made[kind](parts)


class Channel:
    """Two pipes that carry frames; `limit` bounds what is read, an allowance how long it takes."""

    def __init__(self, read: int, write: int, limit: int) -> None:
        self.read, self.write, self.limit = read, write, limit
        os.set_blocking(read, False)
        os.set_blocking(write, False)

    def send(self, frame: bytes, allowance: Allowance | None = None) -> None:
        """Write a frame. Raises WireError."""
        rest = memoryview(frame)
        while rest:
            self._wait(self.write, select.POLLOUT, allowance)
            try:
                rest = rest[os.write(self.write, rest[:65536]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise WireError("gone") from error

    def receive(self, allowance: Allowance | None = None) -> bytes:
        """Read a frame. Raises WireError."""
        head = self._exactly(_HEAD.size, allowance)
        length = sum(_HEAD.unpack(head))
        if length > self.limit:
            raise WireError(f"it answered with more than {self.limit >> 20} MB")
        return head + self._exactly(length, allowance)

    def _exactly(self, count: int, allowance: Allowance | None) -> bytes:
        got = bytearray()
        while len(got) < count:
            self._wait(self.read, select.POLLIN, allowance)
            try:
                more = os.read(self.read, min(count - len(got), 1 << 20))
            except BlockingIOError:
                continue
            except OSError:
                more = b""
            if not more:
                raise WireError("gone")
            got += more
        return bytes(got)

    def _wait(self, fd: int, event: int, allowance: Allowance | None) -> None:
        poll = select.poll()
        poll.register(fd, event)
        while True:
            # Who sends without end is late too, though there is always something to read.
            if allowance and (why := allowance.over()):
                raise WireError(why)
            if poll.poll(_LOOK * 1000 if allowance else None):
                return

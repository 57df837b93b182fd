"""What functions do and data hold, as short texts that are the same in every process."""

import dis
import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from types import CodeType
from typing import Any

import numpy as np
import torch
from torch import Tensor

PLAIN = (int, float, str, bytes, bool, type(None))


def _constants(code: CodeType) -> Iterator[str]:
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from (value.co_code.hex(), *_constants(value))
        else:  # a set of strings has another order in every process
            yield str(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


@functools.cache
def _read(code: CodeType) -> tuple[str, ...]:
    """Return the global names that code reads, and those that the functions inside it read."""
    own = [step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"]
    inner = [n for value in code.co_consts if isinstance(value, CodeType) for n in _read(value)]
    return (*own, *inner)


def _outside(function: Any) -> dict[str, Any]:
    """Return what a function reads from outside, by name."""
    known = function.__globals__
    found = {name: known[name] for name in _read(function.__code__) if name in known}
    return {**found, **inspect.getclosurevars(function).nonlocals}


def _reached(function: Any) -> list[Any]:
    """Return a function and those of its own module that it calls, and so on."""
    found = {function: None}
    left = [function]
    while left:
        for other in _outside(left.pop()).values():
            near = inspect.isfunction(other) and other.__module__ == function.__module__
            if near and other not in found:
                found[other] = None
                left.append(other)
    return [*found]


def _digest(functions: Iterable[Any]) -> str:
    """Hash what functions do: their instructions, names and constants, without docstrings.

    Functions of their modules that they call count as well.
    """
    digest = hashlib.sha256()
    for function in (reached for one in functions for reached in _reached(one)):
        code = function.__code__
        constants = [c for c in _constants(code) if c != repr(function.__doc__)]
        text = "\n".join([code.co_code.hex(), *code.co_names, *constants])
        digest.update(text.encode())
    return digest.hexdigest()[:12]


def _function(call: Any) -> Any:
    """Return the plain function behind a partial, a method or an object with `__call__`."""
    while isinstance(call, functools.partial):
        call = call.func
    if not inspect.isroutine(call):
        call = type(call).__call__
    return getattr(call, "__func__", call)


def code_of(call: Callable[..., Any]) -> str:
    """Return the name of a function and a hash of its code, the same in every process."""
    function = _function(call)
    name = getattr(function, "__qualname__", type(function).__name__)
    code = getattr(function, "__code__", None)
    if code is None:
        return str(name)
    return f"{name} {_digest([function])}"


def code_of_class(kind: type) -> str:
    """Return a hash of the functions of a class and its bases; torch's own are not in it."""
    own = [
        base for base in kind.__mro__ if base.__module__.split(".")[0] not in ("torch", "builtins")
    ]
    return _digest(
        [f for base in own for _, f in sorted(vars(base).items()) if inspect.isfunction(f)]
    )


def values_of(call: Callable[..., Any]) -> dict[str, Any]:
    """Return the plain numbers and strings that a function is set with, and the sha256 of its data.

    Those are the arguments of a partial, the defaults, and what the function, and the functions of
    its module that it calls, read from outside. Of what is read from outside, integers are left
    out, which are often counters, and lists, which are often records; batches with a
    `fingerprint()` are data wherever they stand.
    """
    found: dict[str, Any] = {}
    if isinstance(call, functools.partial):
        given = {f"argument {i}": value for i, value in enumerate(call.args)} | call.keywords
        found.update({name: _data(value) for name, value in given.items()})
    function = _function(call)
    if inspect.isfunction(function):
        for name, parameter in inspect.signature(function).parameters.items():
            found.setdefault(name, parameter.default)
        outside = [item for one in _reached(function) for item in _outside(one).items()]
        for name, value in outside:
            if isinstance(value, (float, str, bool)) or hasattr(value, "fingerprint"):
                found.setdefault(name, value)
    described = {name: _described(value) for name, value in found.items()}
    return {name: value for name, value in described.items() if value is not None}


def _data(value: Any) -> Any:
    """Return the sha256 of what is data, anything else as it is."""
    return sha256_of(value) if isinstance(value, (Tensor, np.ndarray, list, tuple, dict)) else value


def _described(value: Any) -> Any:
    if hasattr(value, "fingerprint") and not isinstance(value, type):
        return value.fingerprint()
    return value if isinstance(value, (float, str, bool, int)) else None


def data_of(batches: Any) -> dict[str, Any]:
    """Return what tells the data of `batches` from other data: their length, and a sha256.

    Lists of batches count by every value in them, other kinds by what their `fingerprint()`
    returns; without one they count by their length.
    """
    found = {"length": len(batches) if hasattr(batches, "__len__") else None}
    if hasattr(batches, "fingerprint"):
        return found | batches.fingerprint()
    if isinstance(batches, (list, tuple, Tensor, np.ndarray)):
        return found | {"sha256": sha256_of(batches)}
    return found


def sha256_of(value: Any) -> str:
    """Return the sha256 of nested lists, mappings, dataclasses, tensors and plain values.

    Anything else counts by its `fingerprint()`, a function by its code, another object by the name
    of its class.
    """
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Add a value to a digest: what it is and how long it is, before what it holds."""
    if isinstance(value, PLAIN):
        digest.update(f"{value!r};".encode("utf-8", "surrogatepass"))
    elif isinstance(value, Tensor):
        flat = value.detach().cpu().contiguous().reshape(-1)
        digest.update(f"tensor {value.dtype} {list(value.shape)};".encode())
        digest.update(flat.view(torch.uint8).numpy().data)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"array {value.dtype} {list(value.shape)};".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, np.generic):
        _feed(digest, value.item())
    elif isinstance(value, Mapping):
        _feed(digest, ("mapping", [*value.keys()], [*value.values()]))
    elif isinstance(value, (Sequence, np.ndarray)):
        digest.update(f"{type(value).__name__} {len(value)};".encode())
        if all(isinstance(part, PLAIN) for part in value):
            digest.update(repr([*value]).encode("utf-8", "surrogatepass"))
            return
        for part in value:
            _feed(digest, part)
    elif isinstance(value, Set):
        _feed(digest, ("set", sorted(map(sha256_of, value))))
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        _feed(digest, (type(value).__name__, parts))
    elif hasattr(value, "fingerprint") and not isinstance(value, type):
        _feed(digest, value.fingerprint())
    else:
        _feed(digest, code_of(value) if callable(value) else type(value).__name__)

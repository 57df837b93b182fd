"""The identity of a run: what its data hold, and what its functions are called and set with.

A function counts by its name and settings, not by its code, so that a new Python refuses no run.
Whoever changes what a loss, a model or a measurement computes raises the explicit `version` of
`deepdive.training.Keep` or of the sweep.
"""

import functools
import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from types import CodeType
from typing import Any

import joblib
import numpy as np
import torch
from torch import Tensor

PLAIN = (int, float, str, bytes, bool, type(None))


def content_hash(value: Any) -> str:
    """Return joblib's sha1 of nested lists, mappings, dataclasses, tensors and plain values.

    It is the same in every process and version of Python. Anything else counts by its
    `fingerprint()`, a function by its name, another object by the name of its class.
    """
    return str(joblib.hash(_plain(value), hash_name="sha1"))


def _plain(value: Any) -> Any:
    """Return a value as texts and new lists and tuples, because joblib's hash sees shared ones."""
    if isinstance(value, (*PLAIN, np.generic)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, Tensor):
        flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        return ("tensor", str(value.dtype), [*value.shape], _bytes_hash(flat.numpy()))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return ("array", str(value.dtype), [*value.shape], _bytes_hash(value))
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(part) for key, part in value.items()}
    if isinstance(value, (Sequence, np.ndarray)):
        kind = type(value).__name__
        if all(isinstance(part, PLAIN) for part in value):
            return f"{kind} {[*value]!r}"
        return (kind, [_plain(part) for part in value])
    if isinstance(value, Set):
        return ("set", sorted(map(content_hash, value)))
    if is_dataclass(value) and not isinstance(value, type):
        return (
            type(value).__name__,
            {f.name: _plain(getattr(value, f.name)) for f in fields(value)},
        )
    if hasattr(value, "fingerprint") and not isinstance(value, type):
        return _plain(value.fingerprint())
    return name_of(value) if callable(value) else type(value).__name__


def _bytes_hash(array: np.ndarray[Any, Any]) -> str:
    # Not joblib's: it pickles the dtype by a protocol that changes with Python.
    return hashlib.sha256(array.tobytes()).hexdigest()


def data_of(batches: Any) -> dict[str, Any]:
    """Return what tells the data of `batches` from other data: their length, and a hash.

    Lists of batches count by every value in them, other kinds by what their `fingerprint()`
    returns; without one they count by their length.
    """
    found = {"length": len(batches) if hasattr(batches, "__len__") else None}
    if hasattr(batches, "fingerprint"):
        return found | batches.fingerprint()
    if isinstance(batches, (list, tuple, Tensor, np.ndarray)):
        return found | {"hash": content_hash(batches)}
    return found


def _function(call: Any) -> Any:
    """Return the plain function behind a partial, a method or an object with `__call__`."""
    while isinstance(call, functools.partial):
        call = call.func
    if not inspect.isroutine(call):
        call = type(call).__call__
    return getattr(call, "__func__", call)


def name_of(call: Callable[..., Any]) -> str:
    """Return the name of a function, or of what a partial or an object calls."""
    function = _function(call)
    return str(getattr(function, "__qualname__", type(function).__name__))


def values_of(call: Callable[..., Any]) -> dict[str, Any]:
    """Return the plain numbers and strings that a function is set with, and hashes of its data.

    Those are the arguments of a partial, the defaults, and what the function, and the functions of
    its module that it calls, read from outside. Of what is read from outside, integers are left
    out, which are often counters, and lists, which are often records; batches with a
    `fingerprint()` are data wherever they are.
    """
    found: dict[str, Any] = {}
    if isinstance(call, functools.partial):
        given = {f"argument {i}": value for i, value in enumerate(call.args)} | call.keywords
        found.update({name: _data(value) for name, value in given.items()})
    function = _function(call)
    if inspect.isfunction(function):
        for name, parameter in inspect.signature(function).parameters.items():
            found.setdefault(name, parameter.default)
        for name, value in _outside(function, set()):
            if isinstance(value, (float, str, bool)) or hasattr(value, "fingerprint"):
                found.setdefault(name, value)
    described = {name: _described(value) for name, value in found.items()}
    return {name: value for name, value in described.items() if value is not None}


def _outside(function: Any, seen: set[Any]) -> Iterator[tuple[str, Any]]:
    """Yield what a function, and those of its module that it calls, read from outside, by name."""
    seen.add(function)
    known = function.__globals__
    names = [name for name in _names(function.__code__) if not name.startswith("__")]
    found = {name: known[name] for name in names if name in known}
    found |= inspect.getclosurevars(function).nonlocals
    for name, value in found.items():
        if not inspect.isfunction(value):
            yield name, value
        elif value.__module__ == function.__module__ and value not in seen:
            yield from _outside(value, seen)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code reads, and those of the code inside it: some Pythons inline it."""
    yield from code.co_names
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _names(value)


def _data(value: Any) -> Any:
    """Return the hash of what is data, anything else as it is."""
    is_data = isinstance(value, (Tensor, np.ndarray, list, tuple, dict))
    return content_hash(value) if is_data else value


def _described(value: Any) -> Any:
    if hasattr(value, "fingerprint") and not isinstance(value, type):
        return value.fingerprint()
    return value if isinstance(value, (float, str, bool, int)) else None

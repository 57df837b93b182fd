"""Fingerprint of a run: hashes of its data, and the names and settings of its functions.

A function is identified by its name and settings, not its code, so a new Python version does not
invalidate a run. After changing what a loss, a model or a metric computes, increase the `version`
of `deepdive.training.Keep` or of the sweep.
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

    It is the same in every process and Python version. Other objects are identified by their
    `fingerprint()`, functions by their name, anything else by its class name.
    """
    return str(joblib.hash(_plain(value), hash_name="sha1"))


def _plain(value: Any) -> Any:
    """Convert to strings and new lists and tuples, because joblib's hash depends on identity."""
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
    # Not joblib's hash: it pickles the dtype with a protocol that depends on the Python version.
    return hashlib.sha256(array.tobytes()).hexdigest()


def data_of(batches: Any) -> dict[str, Any]:
    """Return what identifies the data of `batches`: their length, and a hash.

    Lists of batches are hashed by value, other kinds are identified by their `fingerprint()`, or
    else by their length alone.
    """
    found = {"length": len(batches) if hasattr(batches, "__len__") else None}
    if hasattr(batches, "fingerprint"):
        return found | batches.fingerprint()
    if isinstance(batches, (list, tuple, Tensor, np.ndarray)):
        return found | {"hash": content_hash(batches)}
    return found


def _function(call: Any) -> Any:
    """Return the function wrapped by a partial, a method or an object with `__call__`."""
    while isinstance(call, functools.partial):
        call = call.func
    if not inspect.isroutine(call):
        call = type(call).__call__
    return getattr(call, "__func__", call)


def name_of(call: Callable[..., Any]) -> str:
    """Return the name of a function, or of the function that a partial or an object calls."""
    function = _function(call)
    return str(getattr(function, "__qualname__", type(function).__name__))


def values_of(call: Callable[..., Any]) -> dict[str, Any]:
    """Return the settings of a function (numbers and strings), and hashes of its data.

    These are the arguments of a partial, the defaults, and the globals and nonlocals used by the
    function and by the functions of its module that it calls. Among globals and nonlocals, integers
    are skipped (often counters), and lists (often logs); batches with a `fingerprint()` always
    count as data.
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
    """Yield the globals and nonlocals of a function, and of those of its module that it calls."""
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
    """Yield the names in code and nested code objects (some Python versions inline the latter)."""
    yield from code.co_names
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _names(value)


def _data(value: Any) -> Any:
    """Return the hash of data, and any other value unchanged."""
    is_data = isinstance(value, (Tensor, np.ndarray, list, tuple, dict))
    return content_hash(value) if is_data else value


def _described(value: Any) -> Any:
    if hasattr(value, "fingerprint") and not isinstance(value, type):
        return value.fingerprint()
    return value if isinstance(value, (float, str, bool, int)) else None

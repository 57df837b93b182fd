"""What a function or a class does, as a short text that is the same in every process."""

import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any


def _constants(code: CodeType) -> Iterator[str]:
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from (value.co_code.hex(), *_constants(value))
        else:  # a set of strings has another order in every process
            yield str(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _digest(functions: Iterable[Any]) -> str:
    """Hash what functions do: their instructions, names and constants, without docstrings."""
    digest = hashlib.sha256()
    for function in functions:
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
    """Return the plain numbers and strings that a function is set with.

    Those are the arguments of a partial, defaults, and what it closes over. Integers that it
    closes over are left out: they are often counters.
    """
    found: dict[str, Any] = {}
    if isinstance(call, functools.partial):
        found.update({f"argument {i}": value for i, value in enumerate(call.args)}, **call.keywords)
    function = _function(call)
    if inspect.isfunction(function):
        for name, parameter in inspect.signature(function).parameters.items():
            found.setdefault(name, parameter.default)
        outside = inspect.getclosurevars(function)
        for name, value in {**outside.globals, **outside.nonlocals}.items():
            if isinstance(value, (float, str, bool)):
                found[name] = value
    return {k: v for k, v in found.items() if isinstance(v, (float, str, bool, int))}

"""Checks of arguments, shared by the library and the chapters' exercises."""

import difflib
import os
from collections.abc import Sequence
from math import isfinite
from operator import index
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


def missed(predicted: float, actual: float, form: str = "g") -> str:
    """Return the message that a prediction, in the format `form`, is too high or too low."""
    return f"{predicted:{form}} is too {'high' if predicted > actual else 'low'}"


def own_path(path: str | os.PathLike[str]) -> Path:
    """Return a pasted path without the quotes and blanks around it, `~` expanded."""
    text = os.fspath(path).strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return Path(text).expanduser()


def own_file(file: str | os.PathLike[str], error: type[Exception] = ValueError) -> Path:
    """Return the path of a reader's own file, parsed by `own_path`.

    Raises `error` where there is no such file, naming the current folder and files with a name like
    it, and for a folder.
    """
    path = own_path(file)
    try:
        if path.is_file():
            return path
        siblings = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        problem = "is a folder, not a file" if path.is_dir() else "is not a file"
    except OSError as fault:  # a name that no file system takes
        raise error(f"path: {str(path)[:80]!r}... cannot be a file ({fault.strerror})") from None
    close = difflib.get_close_matches(path.name, siblings, n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise error(f"path: {path} {problem}; the current folder is {Path.cwd()}{hint}")


def returned(name: str, value: T | None) -> T:
    """Return what the function `name` returned.

    Raises AssertionError if that is None.
    """
    assert value is not None, f"{name}() returned nothing: does it end in `return ...`?"
    return value


def positive(**sizes: int | None) -> None:
    """Raise ValueError, naming it, for a size below 1, TypeError for one that is no integer.

    A size of None means the default.
    """
    _at_least(1, sizes)


def not_negative(**sizes: int | None) -> None:
    """Raise ValueError, naming it, for a number below 0; otherwise like `positive`."""
    _at_least(0, sizes)


def as_int(name: str, value: int) -> int:
    """Return an integer, Python's or numpy's, as an int. Raises TypeError for other values."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: expected a whole number") from None


def divides(**sizes: int) -> None:
    """Raise ValueError, naming both, unless the first size divides the second: `divides(n_heads=4,
    d_model=16)`. Both must be positive.
    """
    positive(**sizes)
    (divisor, n), (multiple, size) = sizes.items()
    if size % n:
        raise ValueError(f"{divisor}={n} does not divide {multiple}={size}: choose a divisor")


def each_at_least(least: int, name: str, values: Sequence[int | None]) -> None:
    """Raise ValueError where there is no value, or one below `least`; None is accepted."""
    if not values:
        raise ValueError(f"{name}={tuple(values)}: expected at least one number")
    _at_least(least, {f"{name}[{i}]": value for i, value in enumerate(values)})


def width(name: str, values: Tensor, expected: int) -> None:
    """Raise ValueError, naming it, unless the last dimension of `values` is `expected`."""
    if values.ndim < 1 or values.shape[-1] != expected:
        raise ValueError(
            f"{name} has shape {tuple(values.shape)}; its last dimension must be {expected}, as "
            "in the weights"
        )


def numbers(least: float = 0.0, most: float | None = None, **values: float) -> None:
    """Raise ValueError, naming it, for a number that isn't finite, is below `least`, or is above
    `most`; TypeError for one that is no number.
    """
    for name, value in values.items():
        expected = f"expected a finite number, {least:g} or more"
        if most is not None:
            expected = f"expected a number from {least:g} to {most:g}"
        if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
            raise TypeError(f"{name}={value!r}: {expected}")
        if not isfinite(value) or value < least or (most is not None and value > most):
            raise ValueError(f"{name}={value}: {expected}")


def above_zero(**values: float) -> None:
    """Raise ValueError, naming it, for a number that isn't finite and above 0."""
    numbers(**values)
    for name, value in values.items():
        if value == 0:
            raise ValueError(f"{name}={value}: expected a finite number above 0")


def finite(name: str, values: Any) -> None:
    """Raise ValueError, naming it, where a tensor or an array holds NaN or infinity."""
    tensor = torch.as_tensor(values)
    if bad := int((~tensor.isfinite()).sum()):
        raise ValueError(
            f"{name}: {bad} of {tensor.numel()} values are NaN or infinite; fix their source, or "
            "drop them"
        )


def real_input(name: str, values: Tensor, shape: str, fix: str) -> None:
    """Raise unless pixels or samples are floating-point numbers, not empty, and finite: TypeError
    for another type, ValueError for the rest. `shape` says what was expected, `fix` what to do with
    integers.
    """
    if not isinstance(values, Tensor):
        raise TypeError(f"{name}: got {type(values).__name__}, expected a tensor {shape}")
    if not values.is_floating_point():
        raise TypeError(f"{name}: got {values.dtype}, expected floats {shape}: {fix}")
    if values.numel() == 0:
        raise ValueError(f"{name}: got {tuple(values.shape)}, expected {shape}, not empty")
    if not bool(values.isfinite().all()):
        finite(name, values)


def flags(name: str, values: Any, shape: Sequence[int], meaning: str) -> None:
    """Raise TypeError, naming it, unless `values` is a bool tensor; ValueError unless it has this
    shape. `meaning` names the axes and the meaning of True.
    """
    if not isinstance(values, Tensor) or values.dtype != torch.bool:
        kind = values.dtype if isinstance(values, Tensor) else type(values).__name__
        raise TypeError(f"{name}: got {kind}, expected a bool tensor {meaning}")
    if values.shape != tuple(shape):
        raise ValueError(
            f"{name}: got {tuple(values.shape)}, expected a bool tensor {meaning}, here of shape "
            f"{tuple(shape)}"
        )


def texts(name: str, values: Any) -> None:
    """Raise TypeError, naming it, unless `values` is a list (or another sequence) of strings."""
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise TypeError(
            f"{name}: got {type(values).__name__} ({_short(values)}), expected a list of "
            f"strings: write [{name}]"
        )
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(
                f"{name}[{i}]: got {type(value).__name__} ({_short(value)}), expected a string"
            )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _at_least(least: int, sizes: dict[str, int | None]) -> None:
    present = {name: size for name, size in sizes.items() if size is not None}
    for name, size in present.items():
        try:
            index(size)
        except TypeError:
            raise TypeError(f"{name}={size!r}: expected a whole number, {least} or more") from None
        if size < least:
            others = ", ".join(f"{n}={s}" for n, s in present.items() if n != name)
            context = f" (beside {others})" if others else ""
            raise ValueError(f"{name}={size}: expected a whole number, {least} or more{context}")

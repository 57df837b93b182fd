"""What many parts and the chapters' exercises check alike."""

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


def missed(said: float, right: float, form: str = "g") -> str:
    """Say whether a prediction, written in the format `form`, is too high or too low."""
    return f"{said:{form}} is too {'high' if said > right else 'low'}"


def own_path(given: str | os.PathLike[str]) -> Path:
    """Return a path as people paste it: without quotes and blanks around it, `~` expanded."""
    text = os.fspath(given).strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return Path(text).expanduser()


def own_file(given: str | os.PathLike[str], error: type[Exception] = ValueError) -> Path:
    """Return the path of a reader's own file, as `own_path` reads it.

    Raises `error` where there is no such file, naming the current folder and files with a name like
    it, and for a folder.
    """
    path = own_path(given)
    try:
        if path.is_file():
            return path
        beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        what = "is a folder, not a file" if path.is_dir() else "is not a file"
    except OSError as fault:  # a name that no file system takes
        raise error(f"path: {str(path)[:80]!r}... cannot be a file ({fault.strerror})") from None
    near = difflib.get_close_matches(path.name, beside, n=3)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    raise error(f"path: {path} {what}; the current folder is {Path.cwd()}{meant}")


def returned(name: str, value: T | None) -> T:
    """Return what the function `name` returned.

    Raises AssertionError if that is None.
    """
    assert value is not None, f"{name}() returned nothing: does it end in `return ...`?"
    return value


def positive(**sizes: int | None) -> None:
    """Raise ValueError, naming it, for a size below 1, TypeError for one that is no whole number.

    A size that is None is left to its default.
    """
    _at_least(1, sizes)


def not_negative(**sizes: int | None) -> None:
    """Raise ValueError, naming it, for a number below 0; the rest is as for `positive`."""
    _at_least(0, sizes)


def whole(name: str, value: int) -> int:
    """Return a whole number, or numpy's, as a plain one. Raises TypeError for others."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: expected a whole number") from None


def divides(**sizes: int) -> None:
    """Raise ValueError, naming both, unless the first size divides the second: `divides(n_heads=4,
    d_model=16)`. Both must be positive.
    """
    positive(**sizes)
    (part, n), (whole, size) = sizes.items()
    if size % n:
        raise ValueError(f"{part}={n} does not divide {whole}={size}: choose a divisor")


def each_at_least(least: int, name: str, values: Sequence[int | None]) -> None:
    """Raise ValueError where there is no value, or one below `least`; None stands for any."""
    if not values:
        raise ValueError(f"{name}={tuple(values)}: expected one number at least")
    _at_least(least, {f"{name}[{i}]": value for i, value in enumerate(values)})


def width(name: str, rows: Tensor, expected: int) -> None:
    """Raise ValueError, naming it, unless `rows` (..., expected) have that last side."""
    if rows.ndim < 1 or rows.shape[-1] != expected:
        raise ValueError(
            f"{name} has shape {tuple(rows.shape)}; its last side must be {expected}, as the "
            "weights are"
        )


def numbers(least: float = 0.0, most: float | None = None, **values: float) -> None:
    """Raise ValueError, naming it, for a number that isn't finite, is below `least`, or is above
    `most`; TypeError for one that is no number.
    """
    for name, value in values.items():
        wanted = f"expected a finite number, {least:g} or more"
        if most is not None:
            wanted = f"expected a number from {least:g} to {most:g}"
        if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
            raise TypeError(f"{name}={value!r}: {wanted}")
        if not isfinite(value) or value < least or (most is not None and value > most):
            raise ValueError(f"{name}={value}: {wanted}")


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
            f"{name}: {bad} of {tensor.numel()} numbers are NaN or infinite; find out where they "
            "come from, or leave them out"
        )


def real_input(name: str, values: Tensor, shape: str, fix: str) -> None:
    """Raise unless pixels or samples are floating-point numbers, not empty, and finite: TypeError
    for another type, ValueError for the rest. `shape` says what was expected, `fix` what to do with
    integers.
    """
    if not isinstance(values, Tensor):
        raise TypeError(f"{name}: came as {type(values).__name__}, expected a tensor {shape}")
    if not values.is_floating_point():
        raise TypeError(f"{name}: came as {values.dtype}, expected floats {shape}: {fix}")
    if values.numel() == 0:
        raise ValueError(f"{name}: came {tuple(values.shape)}, expected {shape} and no side of 0")
    if not bool(values.isfinite().all()):
        finite(name, values)


def flags(name: str, values: Any, shape: Sequence[int], meaning: str) -> None:
    """Raise TypeError, naming it, unless `values` is a bool tensor; ValueError unless it has this
    shape. `meaning` says what the axes are, and what True means.
    """
    if not isinstance(values, Tensor) or values.dtype != torch.bool:
        kind = values.dtype if isinstance(values, Tensor) else type(values).__name__
        raise TypeError(f"{name}: came as {kind}, expected a bool tensor {meaning}")
    if values.shape != tuple(shape):
        raise ValueError(
            f"{name}: came {tuple(values.shape)}, expected a bool tensor {meaning}; here that is "
            f"{tuple(shape)}"
        )


def texts(name: str, values: Any) -> None:
    """Raise TypeError, naming it, unless `values` is a list (or another sequence) of strings."""
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise TypeError(
            f"{name}: came as {type(values).__name__} ({_short(values)}), expected a list of "
            f"strings: write [{name}]"
        )
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(
                f"{name}[{i}]: came as {type(value).__name__} ({_short(value)}), expected a string"
            )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _at_least(least: int, sizes: dict[str, int | None]) -> None:
    given = {name: size for name, size in sizes.items() if size is not None}
    for name, size in given.items():
        try:
            index(size)
        except TypeError:
            raise TypeError(f"{name}={size!r}: expected a whole number, {least} or more") from None
        if size < least:
            others = ", ".join(f"{n}={s}" for n, s in given.items() if n != name)
            context = f" (beside {others})" if others else ""
            raise ValueError(f"{name}={size}: expected a whole number, {least} or more{context}")

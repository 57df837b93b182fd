"""What many parts and the chapters' exercises check alike."""

from collections.abc import Sequence
from operator import index
from typing import TypeVar

from torch import Tensor

T = TypeVar("T")


def missed(said: float, right: float, form: str = "g") -> str:
    """Say whether a prediction, written in the format `form`, is too high or too low."""
    return f"{said:{form}} is too {'high' if said > right else 'low'}"


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

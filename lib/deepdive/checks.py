"""What the checks of several chapters' exercises say alike."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def returned(name: str, value: T | None) -> T:
    """Return what the function `name` returned.

    Raises AssertionError if that is None.
    """
    assert value is not None, f"{name}() returned nothing: does it end in `return ...`?"
    return value

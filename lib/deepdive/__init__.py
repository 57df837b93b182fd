"""deepdive: the library of the companion. It is written to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from torch import nn

Model = TypeVar("Model", bound="nn.Module")

__version__ = "0.1.0"

__all__ = ["__version__", "optimize"]


def optimize(model: Model) -> Model:
    """Replace linear and dropout layers of `model`, in place, by forms tuned for a CPU; return it.

    What it computes stays the same to rounding: `deepdive._fast.optimize` lists what is replaced.
    """
    from deepdive._fast import optimize as tuned  # torch is imported only where it is used

    return tuned.optimize(model)

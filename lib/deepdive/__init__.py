"""deepdive: the library of the companion. It is written to be read."""

from deepdive._version import __version__

__all__ = ["__version__"]

"""deepdive: the library of the companion. It is written to be read."""

__version__ = "0.1.0"

__all__ = ["__version__"]

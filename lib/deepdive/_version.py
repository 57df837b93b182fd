"""The version, in a file that a build can read without importing torch."""

__version__ = "0.1.0"

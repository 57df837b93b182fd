"""Exceptions of data sets."""


class DataError(RuntimeError):
    """Base class of errors with a data set, its name, its location or its files."""


class DataUnavailable(DataError):
    """A file is in none of its locations; the message says what was tried, and what to do."""


class DataRefused(DataError):
    """A file exists but is not the registered one: corrupt, truncated or changed."""

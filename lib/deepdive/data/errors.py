"""What can go wrong with a data set."""


class DataError(RuntimeError):
    """Anything that is wrong with a data set, its name, its place or its files."""


class DataUnavailable(DataError):
    """A file is in none of the places; the message says what was tried, and what to do."""


class DataRefused(DataError):
    """A file is there but is not the one registered: corrupt, truncated or changed."""

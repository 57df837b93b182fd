"""What can go wrong with a recording."""


class AudioError(ValueError):
    """A recording cannot be used, or a setting fits no recording; the message says what to do."""

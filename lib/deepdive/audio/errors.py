"""Exception for recordings and audio settings."""


class AudioError(ValueError):
    """Unusable recording, or invalid audio setting; the message says what to do."""

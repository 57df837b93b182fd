"""One short file an architecture: only what differs from its parent."""

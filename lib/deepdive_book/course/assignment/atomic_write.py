"""Files that are written whole or not at all."""

import os
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Put the data in the place of what is there; when that fails, nothing has changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        half.write_bytes(data)
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)

"""Vectors of many texts, computed once: kept in the folder of a page, and gone on with later."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepdive.page.profile import workdir


def kept_vectors(
    encode: Callable[[Sequence[str]], Any], texts: Sequence[str], name: str, *, part: int = 256
) -> NDArray[np.float32]:
    """Return encode(texts), float32 (N, d), from disk where it was computed before.

    `encode` is asked for `part` texts at a time; each part is kept as soon as it is there, so that
    a run that was stopped goes on. A part is known by its texts and by `name`, which names the
    model: another name where the model changes.
    """
    from tqdm import tqdm

    if isinstance(texts, str) or not texts:
        raise ValueError("texts: expected a list of one text or more; for one text pass [text]")
    folder = workdir() / "vectors"
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(texts), part)
    found = [
        _part(encode, texts[start : start + part], name, folder)
        for start in tqdm(starts, desc="vectors", unit=f" x {part} texts", leave=False, delay=3)
    ]
    return np.concatenate(found)


def _part(
    encode: Callable[[Sequence[str]], Any], texts: Sequence[str], name: str, folder: Path
) -> NDArray[np.float32]:
    told = "\0".join((name, *texts)).encode()
    path = folder / f"{hashlib.sha256(told).hexdigest()[:24]}.npy"
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError):  # not there yet, or cut off by a full disk: made again
        vectors = np.asarray(encode(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ValueError(
            f"encode: gave {vectors.shape} for {len(texts)} texts; expected one row a text"
        )
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            np.save(file, vectors, allow_pickle=False)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return vectors

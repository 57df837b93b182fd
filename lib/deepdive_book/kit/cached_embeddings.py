"""Embeddings of many texts, computed once: an encoder that takes minutes may be stopped at any
moment.

    vectors = cached_embeddings(encode, texts, "e5", of="multilingual-e5-small")
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from deepdive.training.fingerprint import content_hash
from deepdive_book.kit.profile import profile, workdir

Encode = Callable[[list[str]], Any]


def cached_embeddings(
    encode: Encode, texts: Sequence[str], *names: str, of: Any = (), part: int = 256
) -> Any:
    """Return encode(texts), float32 (N, d), a tensor or an array as `encode` gives it.

    `encode` is asked for `part` texts at a time. In every profile but `ci` each part is written
    below `workdir()` as soon as it is there, and read the next time. A part is known by its texts,
    by `names` (its folder), and by `of`: give another where the encoder changes.
    Raises ValueError without texts, and where `encode` does not give a row a text.
    """
    from tqdm import tqdm

    if isinstance(texts, str) or not texts:
        raise ValueError("texts: expected a list of one text or more; for one text pass [text]")
    starts = range(0, len(texts), part)
    parts = [
        _part(encode, list(texts[k : k + part]), names, of)
        for k in tqdm(starts, desc="vectors", unit=f" x {part} texts", leave=False, delay=3)
    ]
    whole = torch.cat([vectors for vectors, _ in parts])
    return whole if parts[0][1] else whole.numpy()


def _part(encode: Encode, texts: list[str], names: tuple[str, ...], of: Any) -> tuple[Tensor, bool]:
    """The vectors of some texts, and whether `encode` gives tensors."""
    if profile() == "ci":
        return _encoded(encode, texts)
    stem = workdir().joinpath("vectors", *names, content_hash((of, names, texts))[:24])
    for kind in ("tensor", "array"):
        try:
            vectors: Tensor = load_file(stem.with_suffix(f".{kind}.safetensors"))["vectors"]
            return vectors, kind == "tensor"
        except (OSError, SafetensorError):  # not there yet, or cut off by a full disk: made again
            continue
    vectors, is_tensor = _encoded(encode, texts)
    _write(vectors, stem.with_suffix(".tensor.safetensors" if is_tensor else ".array.safetensors"))
    return vectors, is_tensor


def _encoded(encode: Encode, texts: list[str]) -> tuple[Tensor, bool]:
    given = encode(texts)
    vectors = torch.as_tensor(given, dtype=torch.float32).contiguous()
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ValueError(
            f"encode: gave {tuple(vectors.shape)} for {len(texts)} texts; expected one row a text"
        )
    return vectors, isinstance(given, Tensor)


def _write(vectors: Tensor, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        save_file({"vectors": vectors}, partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)

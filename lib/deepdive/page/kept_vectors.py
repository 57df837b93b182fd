"""Vectors of many texts, computed once: an encoder that takes minutes may be stopped at any moment.

vectors = kept_vectors(encode, texts, "e5", of="multilingual-e5-small")
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from deepdive.page.profile import profile, workdir
from deepdive.training.fingerprint import sha256_of


def kept_vectors(
    encode: Callable[[list[str]], Tensor],
    texts: Sequence[str],
    *names: str,
    of: Any = (),
    part: int = 2000,
) -> Tensor:
    """Return encode(texts), (N, d), computed `part` texts at a time.

    In the profile `experiment` each part is written below `workdir()` as soon as it is there, and
    read the next time. Its file is named after its texts and `of`, which says what encodes them.
    Raises ValueError without texts.
    """
    if not texts:
        raise ValueError("texts: expected one text or more")
    from tqdm import tqdm

    starts = range(0, len(texts), part)
    return torch.cat(
        [
            _part(encode, list(texts[k : k + part]), names, of)
            for k in tqdm(starts, desc="vectors", leave=False, delay=3)
        ]
    )


def _part(
    encode: Callable[[list[str]], Tensor], texts: list[str], names: tuple[str, ...], of: Any
) -> Tensor:
    if profile() != "experiment":
        return encode(texts)
    file = workdir().joinpath(*names, sha256_of((of, texts))[:16] + ".safetensors")
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}.part")
        save_file({"vectors": encode(texts).contiguous()}, partial)
        os.replace(partial, file)
    return load_file(file)["vectors"]

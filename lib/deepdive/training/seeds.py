"""Random states of Python, numpy and torch: set, saved, restored; and deterministic kernels."""

import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils import deterministic as _deterministic

from deepdive.core.checks import as_int

_SETTINGS: Any = _deterministic  # its attribute is missing from the type stubs


def _seed(seed: int) -> None:
    """Seed Python's, numpy's and torch's generators, those of every CUDA device included."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  (third-party code uses this generator)
    torch.manual_seed(seed)


def seed_everything(seed: int = 0) -> None:
    """Seed Python's `random`, numpy and torch (CPU and CUDA), and select deterministic kernels.

    The same seed, machine, torch version and thread count then give the same results, bit for bit.
    An operation without a deterministic kernel warns and runs. Other generators (a
    `torch.Generator`, `numpy.random.default_rng()`) are not seeded.

    Raises ValueError for a seed outside 0 .. 2^63 - 1, TypeError for one that is not an integer.

    >>> seed_everything(1); a = torch.rand(2)
    >>> seed_everything(1); torch.equal(a, torch.rand(2))
    True
    """
    seed = as_int("seed", seed)
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed: got {seed}, expected 0 <= seed < 2**63")
    _seed(seed)
    _choose_deterministic()


def _choose_deterministic() -> None:
    # cuBLAS reads this when it creates its first workspace; torch requires it for determinism.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # torch.use_deterministic_algorithms does the same, and loads torch._inductor: 1.5 seconds.
    torch.set_deterministic_debug_mode("warn")
    # Filling uninitialized memory with NaN would detect its use, but is slow, and not needed here.
    _SETTINGS.fill_uninitialized_memory = False


@contextmanager
def deterministic() -> Iterator[None]:
    """Select deterministic kernels inside the context, and restore the setting after it."""
    mode, filled = torch.get_deterministic_debug_mode(), _SETTINGS.fill_uninitialized_memory
    _choose_deterministic()
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(mode)
        _SETTINGS.fill_uninitialized_memory = filled


def random_state() -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the states of Python's, numpy's and torch's generators: tensors, and plain values."""
    version, words, gauss = random.getstate()
    _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002
    tensors = {
        "python": torch.tensor(words, dtype=torch.int64),
        "numpy": torch.from_numpy(np.asarray(keys).astype(np.int64)),
        "torch": torch.get_rng_state(),
    }
    # Querying an unused GPU would initialize CUDA.
    devices = torch.cuda.device_count() if torch.cuda.is_initialized() else 0
    for device in range(devices):
        tensors[f"cuda.{device}"] = torch.cuda.get_rng_state(device)
    plain = {"python": [version, gauss], "numpy": [int(position), int(has_gauss), float(cached)]}
    return tensors, plain


def set_random_state(tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
    """Restore the result of `random_state()`. Devices that no longer exist are skipped."""
    version, gauss = plain["python"]
    random.setstate((version, tuple(tensors["python"].tolist()), gauss))
    position, has_gauss, cached = plain["numpy"]
    keys = tensors["numpy"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", keys, position, has_gauss, cached))  # noqa: NPY002
    torch.set_rng_state(tensors["torch"])
    for device in range(torch.cuda.device_count()):
        if f"cuda.{device}" in tensors:
            torch.cuda.set_rng_state(tensors[f"cuda.{device}"], device)


@contextmanager
def preserve_rng_state() -> Iterator[None]:
    """Restore all random states after the context."""
    state = random_state()
    try:
        yield
    finally:
        set_random_state(*state)

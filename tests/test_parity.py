"""Every part equals its reference implementation. The proofs stand in test_parity_*.py."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
from parity_registry import ORACLES

for path in sorted(Path(__file__).parent.glob("test_parity_*.py")):
    importlib.import_module(path.stem)

PROOFS: dict[str, Callable[[], None]] = {}
for part, proof in sorted(ORACLES.items(), key=lambda item: item[0].__qualname__):
    names = [name for name, known in PROOFS.items() if known is proof]
    PROOFS[", ".join([*names, part.__qualname__])] = proof
    for name in names:
        del PROOFS[name]


@pytest.mark.parametrize("parts", PROOFS)
def test_parity(parts: str) -> None:
    PROOFS[parts]()

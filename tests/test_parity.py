"""Every part equals its reference implementation. The proofs stand in test_parity_*.py."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from laws import PARTS, import_cases
from parity_registry import ORACLES

for path in sorted(Path(__file__).parent.glob("test_parity_*.py")):
    importlib.import_module(path.stem)

import_cases()
PROOFS: dict[str, Callable[[], None]] = {
    name: ORACLES[name if name in ORACLES else part]
    for name, part in PARTS.items()
    if name in ORACLES or part in ORACLES
}


@pytest.mark.parametrize("name", sorted(PROOFS))
def test_parity(name: str) -> None:
    proved(PROOFS[name])


@cache
def proved(proof: Callable[[], None]) -> None:
    """Run a proof; one that holds for several parts is run once."""
    proof()

"""Every part equals its reference implementation. The proofs stand in test_parity_*.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from parity_registry import proofs

PROOFS = proofs()


@pytest.mark.parametrize("name", sorted(PROOFS))
def test_parity(name: str) -> None:
    proved(PROOFS[name])


@cache
def proved(proof: Callable[[], None]) -> None:
    """Run a proof; one that holds for several parts is run once."""
    proof()

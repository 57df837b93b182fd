"""Requests with their intents, generated and real."""

from __future__ import annotations

from collections import Counter

import pytest

from deepdive.data.errors import DataError
from deepdive.data.intents import generated_requests, requests


def test_generated_requests_are_different_and_the_same_again() -> None:
    found = generated_requests(2304)
    assert len({r.text for r in found}) == 2304
    assert set(Counter(r.intent for r in found).values()) == {192}
    assert len({r.domain for r in found}) == 4
    assert generated_requests(9, seed=1) == generated_requests(9, seed=1)
    assert generated_requests(9, seed=1) != generated_requests(9, seed=2)
    assert "generated_requests(9" in generated_requests(9).source
    with pytest.raises(DataError, match="2304"):
        generated_requests(2305)


@pytest.mark.data("clinc150")
def test_real_requests() -> None:
    found = requests("test")
    assert len(found) == 4500
    assert set(Counter(r.intent for r in found).values()) == {30}
    assert set(Counter(r.domain for r in found).values()) == {450}
    assert found[0].intent == "translate"
    assert found[0].domain == "travel"
    with pytest.raises(ValueError, match="expected train, val or test"):
        requests("oos_test")

"""What the parts compute is what they computed when tests/digests.json was written."""

from __future__ import annotations

from digests import differences, found, kept


def test_no_part_computes_anything_else() -> None:
    """A change that is wanted is kept by `python tests/digests.py --write`, and said in the log."""
    assert not differences(found(), kept())


def test_a_difference_is_seen() -> None:
    then = {"part": {"0": {"names": "a", "weights": [1.0, 2.0]}}}
    for now in (
        {"part": {"0": {"names": "b", "weights": [1.0, 2.0]}}},
        {"part": {"0": {"names": "a", "weights": [1.0, 2.00001]}}},
        {"part": {"0": {"names": "a"}}},
        {},
    ):
        assert differences(now, then)
    assert not differences(then, then)

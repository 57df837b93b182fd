"""Chapter 5's clinic: each buggy model shows its symptom, and a measurement of one proves one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from wards import Wards

from deepdive_book.course.clinic import recurrence
from deepdive_book.course.clinic.recurrence import (
    BROKEN,
    HEALTHY,
    admit,
    healthy,
    operate,
    unproven,
)
from deepdive_book.course.specimens.recurrence import LAG, REPEATED, SEGMENT, streams


def depends(look: Any) -> torch.Tensor:
    """The share of streams in which segment 3 depends on segment 2."""
    some = streams(8, 3)
    other = some.clone()
    other[:, SEGMENT : 2 * SEGMENT] = (some[:, SEGMENT : 2 * SEGMENT] + 1) % 10
    change = (look(some)["logits"] - look(other)["logits"])[:, 2 * SEGMENT].abs().amax(-1)
    share: torch.Tensor = (change > 1e-6).double().mean()
    return share


def apart(look: Any) -> torch.Tensor:
    """How far logits are from those of the same digits in segments of half the size."""
    some = streams(8, 1)
    far: torch.Tensor = (look(some)["logits"] - look(some, size=4)["logits"]).abs().mean()
    return far


class TestWards(Wards):
    clinic, chapter = recurrence, "05_efficient"

    def idle(self, look: Any) -> Any:
        return look(streams(16))["loss"]


def test_streams_are_the_same_each_time_and_repeat_digits() -> None:
    many = streams(256)
    assert many.shape == (256, 4 * SEGMENT + 1)
    assert torch.equal(many, streams(256))
    repeated = float((many[:, LAG:] == many[:, :-LAG]).double().mean())
    assert abs(repeated - (REPEATED + (1 - REPEATED) / 10)) < 0.02


def test_broken_parts_are_healthy_until_there_is_a_full_memory() -> None:
    states = torch.randn(2, 6, 3)
    assert torch.equal(HEALTHY["memory"](states, 8), BROKEN["memory"](states, 8))
    assert not torch.equal(HEALTHY["memory"](states, 4), BROKEN["memory"](states, 4))
    assert torch.equal(HEALTHY["distance"](4, 0), BROKEN["distance"](4, 0))
    assert torch.equal(HEALTHY["distance"](4, 3), BROKEN["distance"](4, 3) + 3)


def test_a_healthy_model_needs_its_memory() -> None:
    *_, last = healthy().shares.values()
    assert healthy().shares["segment 1"] < 45
    assert last > 75


def test_a_is_healthy_until_its_memory_is_cut() -> None:
    for name in ("segment 1", "segment 2"):
        assert admit("A").shares[name] > healthy().shares[name] - 5
    for name in ("segment 3", "segment 4"):
        assert admit("A").shares[name] < 45


def test_b_is_worse_in_every_segment() -> None:
    for name, share in healthy().shares.items():
        assert admit("B").shares[name] < share - 20


@pytest.mark.parametrize(("letter", "other", "proof"), [("A", "B", depends), ("B", "A", apart)])
def test_a_measurement_of_one_bug_proves_no_other(letter: str, other: str, proof: Any) -> None:
    assert not unproven(proof, letter)
    assert unproven(proof, other)


def test_the_right_part_heals_and_a_wrong_one_does_not() -> None:
    for name, part in HEALTHY.items():
        assert operate(name, part).shares == healthy().shares
    reversed_states = operate("memory", lambda states, length: states.flip(1)[:, :length])
    assert reversed_states.shares["segment 4"] < healthy().shares["segment 4"] - 20


def test_a_chart_says_what_it_shows() -> None:
    alt = admit("A").chart().alt  # type: ignore[attr-defined]
    assert f"segment 2 {healthy().shares['segment 2']:.0f} % and" in alt

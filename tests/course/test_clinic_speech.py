"""Chapter 6c's clinic: each patient shows its symptom, a healthy one does not, a proof proves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from wards import Wards

from deepdive_book.course.clinic import speech
from deepdive_book.course.clinic.speech import (
    BROKEN,
    FRAME,
    HEALTHY,
    STEP,
    admit,
    healthy,
    operate,
    unproven,
)
from deepdive_book.course.specimens.speech import SYMBOLS, sounds


def beyond(look: Any) -> torch.Tensor:
    """Rows that count, less those that are a recording's own."""
    many = sounds(16, 500)
    frames = 1 + (many.lengths - FRAME) // STEP
    surplus: torch.Tensor = (look(many)["rows"] - (frames + 1) // 2).sum()
    return surplus


class TestWards(Wards):
    clinic, chapter = speech, "06c_speech"

    def idle(self, look: Any) -> Any:
        return look(sounds(4).only(0))["features"].mean()


def test_recordings_are_the_same_each_time_and_at_each_rate() -> None:
    many, again, fast = sounds(6), sounds(6), sounds(6, rate=4000)
    assert torch.equal(many.waves, again.waves)
    assert many.texts == fast.texts
    assert torch.equal(fast.lengths, 2 * many.lengths)
    assert {letter for text in many.texts for letter in text} <= {*SYMBOLS[1:]}
    alone = many.only(2)
    assert alone.waves.shape == (1, many.lengths[2])
    assert alone.texts == (many.texts[2],)
    longest, i = int(many.lengths.argmax()), int(many.lengths.argmin())
    n = int(many.lengths[i])
    assert torch.equal(many.waves[i, n:], many.waves[longest, n:])
    assert (many.waves[i, :n] - many.waves[longest, :n]).abs().max() > 0.1


def test_broken_parts_are_not_the_healthy_ones() -> None:
    many = sounds(3)
    draw = torch.randn(3, 9, 4)
    given: dict[str, tuple[Any, ...]] = {
        "blank": ("A TEN",), "rate": (many.waves, 4000), "lengths": (many.lengths,),
        "norm": (draw, torch.tensor([9, 5, 7])),
    }  # fmt: skip
    for name, values in given.items():
        right, wrong = HEALTHY[name](*values), BROKEN[name](*values)
        assert len(right) == len(wrong)
        assert not torch.equal(torch.as_tensor(right), torch.as_tensor(wrong)), name
    real = HEALTHY["norm"](draw, torch.tensor([9, 5, 7]))
    assert real[1, :5].mean(0).abs().max() < 1e-5
    assert torch.equal(HEALTHY["rate"](many.waves, 2000), many.waves)


def test_a_healthy_recogniser_reads_and_knows_other_rates_and_neighbours() -> None:
    assert 0 < healthy().curve[-1] < 0.1
    assert max(healthy().wrong.values()) < 5
    assert healthy().moved < 1e-3
    assert operate("norm", HEALTHY["norm"]).wrong == healthy().wrong


def test_a_has_a_loss_below_0_and_writes_no_spaces() -> None:
    assert admit("A").curve[-1] < 0
    assert min(admit("A").wrong.values()) > 80
    assert " " not in "".join(admit("A").look(sounds(8))["texts"])


def test_b_was_trained_well_and_does_not_read_other_files() -> None:
    assert admit("B").curve == pytest.approx(healthy().curve, rel=1e-4)
    assert admit("B").wrong["alone"] == healthy().wrong["alone"]
    assert admit("B").wrong["other rate"] > 90


def test_c_writes_on_in_a_batch_alone_it_is_well() -> None:
    assert admit("C").wrong["alone"] == healthy().wrong["alone"]
    assert admit("C").wrong["batch"] > healthy().wrong["batch"] + 10
    many = sounds(16, 500)
    assert admit("C").moved < 1e-3
    written = [sum(map(len, each.look(many)["texts"])) for each in (healthy(), admit("C"))]
    assert written[1] > written[0] + 10


def test_d_depends_on_its_neighbours_alone_it_is_well() -> None:
    assert admit("D").wrong["alone"] == healthy().wrong["alone"]
    assert admit("D").moved > 0.3
    assert admit("D").wrong["batch"] < 10
    assert beyond(admit("D").look) == beyond(healthy().look) == 0


def test_a_proof_of_one_illness_proves_no_other() -> None:
    assert not unproven(beyond, "C")
    assert [bool(unproven(beyond, letter)) for letter in "ABD"] == [True] * 3


def test_a_chart_says_what_it_shows() -> None:
    alt = admit("B").chart().alt  # type: ignore[attr-defined]
    assert f"other rate {healthy().wrong['other rate']:.0f} % and" in alt

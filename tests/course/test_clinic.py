"""The bug clinic: each patient shows its symptom, a healthy model does not, and parts are known."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from wards import Wards

from deepdive.core import LayerNorm, SoftmaxAttention
from deepdive.core.masks import Causal
from deepdive.positions import SinusoidalPosition
from deepdive_book.course import clinic
from deepdive_book.course.clinic import (
    BROKEN,
    HEALTHY,
    PATIENTS,
    BuggyModel,
    admit,
    healthy,
    operate,
    unproven,
)
from deepdive_book.course.specimens.decoder import WORD, texts


class TestWards(Wards):
    clinic, chapter = clinic, "02_transformer"

    def idle(self, look: Any) -> Any:
        return look(texts(64))["loss"]


def test_a_treatment_that_is_right_makes_a_healthy_model() -> None:
    for letter, ill in PATIENTS.items():
        assert admit(letter).treated(ill) is healthy()
        with pytest.raises(ValueError, match="expected one of"):
            admit(letter).treated("flu")


def loss(patient: BuggyModel) -> float:
    return float(patient.look(texts(64))["loss"])


def test_a_healthy_model_writes_and_is_steady() -> None:
    assert healthy().right > 0.85
    assert healthy().curve[-1] < 0.15
    assert loss(healthy()) == loss(healthy())
    peaks = healthy().look(WORD)["weights"][0, 5:].argmax(-1)
    assert peaks.tolist() == [4, 3, 2, 1, 0], "it reads the letter that it is to write"


def test_healthy_parts_are_the_library_s_and_broken_ones_are_not() -> None:
    x = 0.02 * torch.randn(5, 64)
    theirs = {
        "scale": (SoftmaxAttention.default_scale(64), lambda parts: parts["scale"](64)),
        "mask": (Causal().dense(6)[0, 0], lambda parts: parts["mask"](6)),
        "epsilon": (LayerNorm(64, eps=1e-5)(x), lambda parts: parts["epsilon"](x)),
        "position": (
            SinusoidalPosition(32).table(torch.arange(9)),
            lambda parts: parts["position"](9, 32),
        ),
    }
    for name, (exact, made) in theirs.items():
        right, wrong = (torch.as_tensor(made(parts)).double() for parts in (HEALTHY, BROKEN))
        expected = torch.as_tensor(exact).double()
        assert torch.allclose(right, expected, atol=1e-5), name
        assert not torch.allclose(wrong, expected, atol=1e-2), name


def test_a_is_better_than_healthy_until_it_stops() -> None:
    patient = admit("A")
    assert patient.curve[3] < 0.5 * healthy().curve[3]
    assert patient.curve[-1] > 2 * healthy().curve[-1]
    assert patient.right < 0.05
    seen = patient.look(WORD)["weights"][0]
    assert seen[:-1].triu(1).sum(-1).min() > 0.99
    assert torch.allclose(seen[-1], torch.full((10,), 0.1), atol=1e-6), "nothing is left to see"


def test_b_is_perfect_and_writes_one_letter() -> None:
    patient = admit("B")
    assert patient.curve[-1] < 0.01
    assert patient.right < 0.05
    assert not patient.look(WORD)["weights"].triu(1).any()
    assert (patient.write(texts(16)).diff() == 0).float().mean() > 0.9


@pytest.mark.parametrize("letter", ["C", "D"])
def test_the_moved_leap_and_recover(letter: str) -> None:
    patient, moved = admit(letter), len(healthy().curve)
    assert patient.curve[:moved] == healthy().curve
    assert patient.curve[moved] > 0.3 > 0.2 > patient.curve[-1]
    assert patient.right < 0.5


def test_c_looks_elsewhere_and_d_looks_less_sharply() -> None:
    well, c, d = (p.look(WORD)["weights"][0, 5:] for p in (healthy(), admit("C"), admit("D")))
    assert c.argmax(-1).tolist() != well.argmax(-1).tolist()
    assert d.argmax(-1).tolist() == well.argmax(-1).tolist()
    assert d.max(-1).values.mean() < well.max(-1).values.mean() - 0.1


def test_e_learns_but_is_told_to_be_worse_and_never_twice_the_same() -> None:
    patient = admit("E")
    assert patient.right > 0.6
    assert patient.curve[-1] > 2 * healthy().curve[-1]
    assert loss(patient) != loss(patient)


def test_f_learns_slowly_and_looks_sharply() -> None:
    patient = admit("F")
    assert patient.curve[-1] > 1
    assert patient.right < 0.1
    sharp, well = (p.look(texts(64))["weights"].max(-1).values.mean() for p in (patient, healthy()))
    assert sharp > 0.95 > 0.85 > well


def test_a_number_that_the_neighbour_shares_proves_nothing() -> None:
    """A and B both have a low loss on noise; asked only whether it is below 1, they are one."""
    noise = torch.randint(0, 8, (64, 11))
    assert "patient B" in unproven(lambda look: look(noise)["loss"] < 1, "A")


def test_a_chart_says_what_it_shows() -> None:
    alt = admit("C").chart().alt  # type: ignore[attr-defined]
    assert "after a leap to 2." in alt
    assert "healthy 0, 0, 0, 0, 4, 4, 3, 2, 1, 0; patient" in alt


def test_an_operation_uses_the_part_that_is_given() -> None:
    assert operate("position", HEALTHY["position"]).right == healthy().right
    assert operate("position", BROKEN["position"]).right == admit("C").right

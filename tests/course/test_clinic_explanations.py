"""Chapter 7's clinic: each patient shows its symptom, a healthy one does not, a proof proves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from wards import Wards

from deepdive.core.hooks import record
from deepdive.explain.games.perturbation import occlusion
from deepdive.explain.rollout import rollout
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words
from deepdive_book.course.clinic import explanations
from deepdive_book.course.clinic.explanations import (
    BROKEN,
    HEALTHY,
    admit,
    healthy,
    operate,
    unproven,
)
from deepdive_book.course.specimens.explanations import BLANK


def added(look: Any) -> torch.Tensor:
    """The sum of the shares over what the answer changed: 1 where it adds up."""
    seen = look([SENTENCE, " ".join([BLANK] * len(SENTENCE.split()))])
    sums: torch.Tensor = seen["integrated"][0].sum() / (seen["answer"][0] - seen["answer"][1])
    return sums


class TestWards(Wards):
    clinic, chapter = explanations, "07_explain"

    def idle(self, look: Any) -> Any:
        return look([SENTENCE])["weights"][0].sum()


def test_a_healthy_program_says_what_the_library_says() -> None:
    toy, seen = review_words(), healthy().look([SENTENCE])
    torch.testing.assert_close(
        seen["occlusion"][0].double(), occlusion(toy.asked(SENTENCE, 0).game()).double(),
        atol=1e-4, rtol=1e-4,
    )  # fmt: skip
    with record(toy.model, "*.weights") as weights:
        toy.model(toy.tokens(SENTENCE))
    layers = [layer[0].detach() for layer in weights.values()]
    torch.testing.assert_close(seen["rollout"][0], rollout(layers)[-1, 0, 0, 1:-1])
    assert abs(float(added(healthy().look)) - 1) < 1e-3
    assert healthy().found["integrated"] > 80


def test_broken_parts_are_not_the_healthy_ones() -> None:
    draw = torch.rand(4, 3, 3)
    given: dict[str, tuple[Any, ...]] = {
        "marks": (draw[0, 0],), "gone": (torch.tensor([7, 8]), torch.eye(2).bool(), 4),
        "path": (draw[0], draw[1], draw[2]), "order": ([*draw],),
    }  # fmt: skip
    for name, values in given.items():
        right, wrong = HEALTHY[name](*values), BROKEN[name](*values)
        assert right.shape == wrong.shape
        assert not torch.equal(right, wrong), name


def test_a_misses_with_two_methods_and_is_well_with_the_third() -> None:
    assert admit("A").found["integrated"] < healthy().found["integrated"] - 50
    assert admit("A").found["rollout"] < healthy().found["rollout"] - 30
    assert admit("A").found["occlusion"] == healthy().found["occlusion"]


def test_b_has_the_signs_of_one_method_turned_round() -> None:
    assert admit("B").found["occlusion"] < 20
    assert admit("B").found["integrated"] == healthy().found["integrated"]
    ill, well = (patient.look(["cold"])["occlusion"][0] for patient in (admit("B"), healthy()))
    torch.testing.assert_close(ill, -well)


def test_c_names_the_same_words_and_does_not_add_up() -> None:
    assert abs(admit("C").found["integrated"] - healthy().found["integrated"]) <= 10
    assert abs(float(added(admit("C").look)) - 1) > 0.2


def test_d_s_shares_are_shares_and_of_other_words() -> None:
    ill, well = (patient.look([SENTENCE])["rollout"][0] for patient in (admit("D"), healthy()))
    assert ill.min() >= 0
    assert 0 < ill.sum() < 1
    assert (ill - well).abs().max() > 0.05


def test_a_proof_of_one_illness_proves_no_other() -> None:
    assert not unproven(added, "C")
    assert [bool(unproven(added, letter)) for letter in "BD"] == [True, True]


def test_a_program_is_operated_on_and_is_well() -> None:
    assert operate("gone", HEALTHY["gone"]).found == healthy().found


@pytest.mark.parametrize(("text", "why"), [("", "needs a word"), ("a tepid film", "tepid, film")])
def test_a_text_that_it_cannot_read_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        healthy().look([text])


def test_a_chart_says_what_it_shows() -> None:
    alt = admit("B").chart().alt  # type: ignore[attr-defined]
    assert f"occlusion {healthy().found['occlusion']:.0f} % and" in alt

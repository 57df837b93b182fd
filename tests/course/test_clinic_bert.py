"""Chapter 3's clinic: each patient shows its symptom, a healthy one does not, a proof proves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy
from wards import Wards

from deepdive_book.course.clinic import encoder
from deepdive_book.course.clinic.encoder import BROKEN, HEALTHY, admit, healthy, operate, unproven
from deepdive_book.course.specimens.encoder import CLS, MASK, PAD, SEP, gaps, texts


class TestWards(Wards):
    clinic, chapter = encoder, "03_bert"

    def idle(self, look: Any) -> Any:
        return look(texts(64))["loss"]


def test_texts_alternate_and_padding_follows() -> None:
    for row in texts(50).tolist():
        end = row.index(SEP)
        letters = row[1:end]
        assert row[0] == CLS
        assert 4 <= len(letters) <= 8
        assert len(set(letters)) == 2
        assert letters[2:] == letters[:-2]
        assert set(row[end + 1 :]) <= {PAD}
    assert torch.equal(texts(9, width=14)[:, :10], texts(9))
    hidden = gaps(texts(200))
    assert not (hidden & (texts(200) >= CLS)).any()
    assert abs(hidden.sum() / (texts(200) < CLS).sum() - 0.25) < 0.03


def test_a_healthy_model_fills_gaps_and_is_steady() -> None:
    assert healthy().right > 0.8
    assert healthy().curve[-1] < 0.5
    assert (
        not healthy()
        .look(texts(64))["weights"][(texts(64) == PAD)[:, None].expand(-1, 10, -1)]
        .any()
    )
    assert operate("pool", HEALTHY["pool"]).curve == pytest.approx(healthy().curve, rel=1e-4)


def test_a_learns_nothing() -> None:
    assert min(admit("A").curve[5:]) > 1.8
    assert admit("A").right < 0.3


def test_b_tells_a_lower_loss_and_fills_gaps_as_well() -> None:
    assert admit("B").curve[4] < 0.5 * healthy().curve[4]
    assert admit("B").right > 0.8


def test_c_has_a_low_loss_and_says_the_next_token() -> None:
    patient, tokens = admit("C"), texts(64)
    assert patient.curve[-1] < healthy().curve[-1]
    assert patient.right < 0.05
    said = patient.look(tokens)["logits"].argmax(-1)
    assert (said == tokens.roll(-1, 1))[gaps(tokens)].float().mean() > 0.8


def test_d_differs_in_its_vectors_alone() -> None:
    patient, tokens = admit("D"), texts(16)
    assert patient.curve == pytest.approx(healthy().curve, rel=1e-4)
    assert patient.right == healthy().right
    mine, well = (each.look(tokens)["vector"] for each in (patient, healthy()))
    padded = (tokens == PAD).any(1)
    assert torch.allclose(mine[~padded], well[~padded], atol=1e-5)
    assert not torch.isclose(mine[padded], well[padded], atol=1e-2).all(1).any()


def test_a_number_that_the_neighbour_shares_proves_nothing() -> None:
    """D's vectors move with padding; B's do not, and A's do, because it attends to it."""
    tokens = texts(64)

    def own_loss(look: object) -> torch.Tensor:
        seen = look(tokens, gaps(tokens))  # type: ignore[operator]
        return cross_entropy(seen["logits"][gaps(tokens)], tokens[gaps(tokens)]) - seen["loss"]

    assert not unproven(own_loss, "B")
    assert not unproven(own_loss, "C")
    assert unproven(own_loss, "A")
    assert unproven(own_loss, "D")


def test_broken_parts_are_not_the_healthy_ones() -> None:
    real, hidden = texts(8) != PAD, gaps(texts(8))
    states = torch.randn(8, 10, 4)
    given = {
        "padding": (real,), "loss": (hidden, real), "labels": (texts(8),), "pool": (states, real),
    }  # fmt: skip
    for name, values in given.items():
        assert not torch.equal(HEALTHY[name](*values), BROKEN[name](*values)), name
    assert MASK not in texts(8)


def test_a_chart_says_what_it_shows() -> None:
    alt = admit("A").chart().alt  # type: ignore[attr-defined]
    assert "0% of them in the healthy model, 100% in the patient" in alt

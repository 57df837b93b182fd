"""DeiT against transformers in float64: its encoder from files, its two heads, and its loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, rows
from parity_registry import equal, parity
from parity_vision import IN_MEMORY, SETTINGS
from transformers import DeiTConfig, DeiTForImageClassificationWithTeacher

from deepdive.models.vision import deit
from deepdive.models.vision.deit import Distilled
from deepdive.published import family, load
from deepdive.published.names import Names
from deepdive.training.objectives import hard_distillation

HEADS = Names({"cls_classifier": "label", "distillation_classifier": "taught"})


@parity(Distilled)
def deit_agrees() -> None:
    theirs = reference(DeiTForImageClassificationWithTeacher, DeiTConfig, num_labels=5, **SETTINGS)
    ours = Distilled(saved_and_loaded(theirs, load), 5).double().eval()  # type: ignore[arg-type]
    ours.load_state_dict(
        {
            **ours.state_dict(),
            **{f"label.{n}": p for n, p in theirs.cls_classifier.state_dict().items()},
            **{f"taught.{n}": p for n, p in theirs.distillation_classifier.state_dict().items()},
        }
    )
    image = rows(3, 3, 12, 12)
    names = family("deit").table(config=ours.encoder.config).within("deit.", "encoder.")
    said, expected = ours(image), theirs(image)
    alike(ours, theirs, said, expected.logits, [*IN_MEMORY, names | HEADS])
    label, taught = ours.both(image)
    equal(label, expected.cls_logits)
    equal(taught, expected.distillation_logits)


def test_published_sizes() -> None:
    """Touvron et al. 2021, table 1: 86, 22 and 5 million."""
    for config, millions in ((deit.BASE, 86), (deit.SMALL, 22), (deit.PUBLISHED_TINY, 5)):
        with torch.device("meta"):
            number = sum(p.numel() for p in deit.deit(config).parameters())
        assert int(number / 1e6 + 0.5) in (millions, millions + 1)


def test_the_loss_by_hand() -> None:
    """Two kinds: the label's head gives the label 3/4, the other the teacher's kind 1/4."""
    label = torch.tensor([[3.0, 1.0]], dtype=torch.float64).log()
    taught = torch.tensor([[3.0, 1.0]], dtype=torch.float64).log()
    teacher = torch.tensor([[-2.0, 5.0]])
    loss = hard_distillation((label, taught), torch.tensor([0]), teacher)
    assert loss.exp().item() == pytest.approx((4 / 3 * 4) ** 0.5)


def test_one_special_token_cannot_be_taught() -> None:
    with pytest.raises(ValueError, match="n_special=1: expected 2, one per head"):
        Distilled(deit.deit(deit.TINY, n_special=1), 3)


MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "both heads read the first token": (
        deit_agrees, "deepdive.models.vision.deit.Distilled.both",
        lambda self, images: tuple(
            head(self.encoder(images)[:, 0]) for head in (self.label, self.taught))),
    "the heads are added": (
        deit_agrees, "deepdive.models.vision.deit.Distilled.forward",
        lambda self, images: sum(self.both(images))),
    "the wrong epsilon": (
        deit_agrees, "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6)),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    deit_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

"""Data2Vec's encoder of images against transformers in float64, and what its training predicts."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, rows
from parity_registry import equal, parity
from parity_vision import SETTINGS
from transformers import Data2VecVisionConfig, Data2VecVisionModel

from deepdive.core.residual import PreNorm, ScaledPreNorm
from deepdive.models.vision import data2vec
from deepdive.models.vision.data2vec import Data2VecVision
from deepdive.models.vision.embeddings import MaskedPatchEmbeddings
from deepdive.positions.grid import GridBias, SpecialGridBias
from deepdive.published import family, from_config, load
from deepdive.training.objectives import averaged_states, decay_at, ema_update, state_loss

HIDDEN = torch.rand(3, 9, generator=torch.Generator().manual_seed(2)) < 0.5
ONE = {"use_shared_relative_position_bias": True, "use_relative_position_bias": False}
EACH = {"use_shared_relative_position_bias": False, "use_relative_position_bias": True}


def agrees(bias: dict[str, bool]) -> None:
    theirs = reference(Data2VecVisionModel, Data2VecVisionConfig, **SETTINGS, **bias,
                       use_mask_token=True)  # fmt: skip
    ours: Any = saved_and_loaded(theirs, load)
    image, names = rows(3, 3, 12, 12), family("data2vec-vision").table(config=ours.config)
    expected = theirs(image, bool_masked_pos=HIDDEN).last_hidden_state
    alike(ours, theirs, ours(image, HIDDEN), expected, [names], inputs=[(image, image)])
    equal(ours(image), theirs(image).last_hidden_state)


@parity(Data2VecVision, MaskedPatchEmbeddings, SpecialGridBias, ScaledPreNorm)
def both_forms_agree() -> None:
    agrees(ONE)
    agrees(EACH)


def test_published_sizes() -> None:
    """Baevski et al. 2022, section 4: 12 and 24 layers of 768 and 1024."""
    for config, millions in ((data2vec.BASE, 86), (data2vec.LARGE, 303)):
        with torch.device("meta"):
            model = data2vec.data2vec(config)
        assert round(sum(p.numel() for p in model.parameters()) / 1e6) == millions


def test_the_targets_are_a_mean_of_normalised_layers() -> None:
    """Of two layers: by hand from the stack; the teacher has no gradient, and no dropout."""
    torch.manual_seed(0)
    teacher = data2vec.data2vec(data2vec.TINY, dropout=0.5).train()
    image = torch.randn(2, 1, 8, 8)
    targets = averaged_states(teacher, 2, image)
    assert teacher.training
    assert not targets.requires_grad
    stream = teacher.eval().embeddings(image)
    layers = []
    for block in teacher.stack.blocks:
        stream = block(stream)
        layers.append((stream - stream.mean(-1, keepdim=True))
                      / (stream.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt())  # fmt: skip
    assert torch.allclose(targets, sum(layers) / 2, atol=1e-5)
    assert torch.allclose(averaged_states(teacher, 1, image), layers[-1], atol=1e-5)
    with pytest.raises(ValueError, match="layers: got 3, expected 1 to 2"):
        averaged_states(teacher, 3, image)


def test_the_teacher_follows() -> None:
    teacher, student = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    torch.nn.init.constant_(teacher.weight, 8.0)
    torch.nn.init.constant_(student.weight, 4.0)
    ema_update(teacher, student, 0.75)
    assert teacher.weight.item() == 7
    ema_update(teacher, student, 1.0)
    assert teacher.weight.item() == 7
    assert [decay_at(step, 0.5, 0.9, 4) for step in (0, 2, 4, 9)] == [0.5, 0.7, 0.9, 0.9]
    with pytest.raises(ValueError, match=r"decay: got 1\.5"):
        ema_update(teacher, student, 1.5)


def test_the_loss_counts_gaps_alone() -> None:
    predicted, target = torch.zeros(1, 3, 2), torch.tensor([[[9.0, 9], [1, 3], [2, 0]]])
    hidden = torch.tensor([[False, True, True]])
    assert state_loss(predicted, target, hidden).item() == (1 + 9 + 4 + 0) / 4
    with pytest.raises(ValueError, match="no position is masked"):
        state_loss(predicted, target, hidden & False)


def test_it_learns() -> None:
    torch.manual_seed(0)
    student = data2vec.data2vec(data2vec.TINY)
    teacher = deepcopy(student).requires_grad_(False)
    image = torch.arange(8.0)[:, None].add(torch.rand(32, 1, 1, 8)).sin()
    hidden = torch.arange(16).expand(32, 16) % 2 == 0
    optimizer, losses = torch.optim.Adam(student.parameters(), 3e-3), []
    for step in range(40):
        ema_update(teacher, student, decay_at(step, 0.9, 0.99, 40))
        target = averaged_states(teacher, 2, image)[:, 1:]
        losses.append(state_loss(student(image, hidden)[:, 1:], target, hidden))
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.6 * losses[0]


def test_what_cannot_be_is_refused() -> None:
    model, none = data2vec.data2vec(data2vec.TINY), torch.zeros(2, 9, dtype=torch.bool)
    image = torch.zeros(2, 1, 8, 8)
    for call, message in (
        (lambda: model(image, none), r"hidden: got \(2, 9\), expected .* \(2, 16\)"),
        (lambda: model(torch.zeros(2, 1, 8, 4)), r"images of \(8, 4\) pixels"),
        (lambda: data2vec.data2vec(data2vec.TINY, masked=False)(image, none), "no mask embedding"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    good = Data2VecVisionConfig(**SETTINGS, **ONE, use_mask_token=True).to_dict()
    for changes, message in (
        ({"use_relative_position_bias": True}, "both true or both false"),
        ({"use_absolute_position_embeddings": True}, "use_absolute_position_embeddings=True"),
        ({"use_mean_pooling": False}, "use_mean_pooling=False"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})


MUTATIONS: dict[str, tuple[str, Any]] = {
    "the special row has the grid's numbers": (
        "deepdive.positions.grid.SpecialGridBias.offsets",
        lambda self, q, k: GridBias.offsets(self, (q - 1).clamp(min=0), (k - 1).clamp(min=0))),
    "no gain": ("deepdive.core.residual.ScaledPreNorm.forward", PreNorm.forward),
    "what is hidden is read": (
        "deepdive.models.vision.embeddings.MaskedPatchEmbeddings.forward",
        lambda self, images, hidden=None: torch.cat(
            [self.special.expand(len(images), -1, -1), self.patches(images)], 1)),
    "the wrong epsilon": (
        "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6)),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    both_forms_agree()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    proof: Callable[[dict[str, bool]], None] = agrees
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof(EACH)

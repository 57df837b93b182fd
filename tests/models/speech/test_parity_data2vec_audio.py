"""data2vec's reader of sound against transformers in float64."""

from __future__ import annotations

from copy import deepcopy
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, parity
from parity_sound import REAL, SETTINGS, gaps, waves
from torch import Tensor
from transformers import Data2VecAudioConfig, Data2VecAudioForCTC, Data2VecAudioModel

from deepdive.core.residual import PreNorm
from deepdive.models.speech import data2vec_audio
from deepdive.models.speech.data2vec_audio import StackedPositionalConv
from deepdive.published import family, load
from deepdive.training.objectives import (
    averaged_states,
    decay_at,
    ema_update,
    hidden_spans,
    state_loss,
)

SIZES = {**SETTINGS, "num_conv_pos_embeddings": 3, "conv_pos_kernel_size": 5}


@parity("data2vec_audio", StackedPositionalConv)
def data2vec_agrees() -> None:
    for width in (5, 4):
        theirs = reference(Data2VecAudioModel, Data2VecAudioConfig,
                           **{**SIZES, "conv_pos_kernel_size": width})  # fmt: skip
        ours: Any = saved_and_loaded(theirs, load)
        sound, hidden, real = waves(), gaps(), ours.real(REAL)
        expected = theirs(sound, attention_mask=REAL.long(), mask_time_indices=hidden)
        output, wanted = ours(sound, REAL, hidden), expected.last_hidden_state
        names = family("data2vec-audio").table(config=ours.config)
        alike(ours, theirs, output[real], wanted[real], [names], inputs=[(sound, sound)])
        equal(ours(sound), theirs(sound).last_hidden_state)


def test_the_head_for_letters_agrees() -> None:
    theirs = reference(Data2VecAudioForCTC, Data2VecAudioConfig, **SIZES)
    ours: Any = saved_and_loaded(theirs, lambda folder: load(folder, "ctc"))
    sound, real = waves(), ours.encoder.real(REAL)
    equal(ours(sound, REAL)[real], theirs(sound, attention_mask=REAL.long()).logits[real])


def test_published_sizes() -> None:
    """Baevski et al. 2022, section 4: 12 and 24 layers of 768 and 1024."""
    for config, published, millions in (
        (data2vec_audio.BASE, {}, 93),
        (data2vec_audio.LARGE, {"hidden_size": 1024, "num_attention_heads": 16,
                                "num_hidden_layers": 24, "intermediate_size": 4096}, 313),
    ):  # fmt: skip
        with torch.device("meta"):
            ours = data2vec_audio.data2vec_audio(config)
            theirs = Data2VecAudioModel(Data2VecAudioConfig(**published))
        number = sum(p.numel() for p in ours.parameters())
        assert number == theirs.num_parameters()
        assert round(number / 1e6) == millions


def test_it_learns_from_its_own_past() -> None:
    """The objective that stands for images serves sound as it is."""
    torch.manual_seed(0)
    student = data2vec_audio.data2vec_audio(data2vec_audio.TINY)
    teacher = deepcopy(student).requires_grad_(False)
    sound = (torch.arange(320) * torch.randint(1, 5, (16, 5)).repeat_interleave(64, 1) * 0.1).sin()
    draw, losses = torch.Generator().manual_seed(0), []
    optimizer = torch.optim.Adam(student.parameters(), 3e-3)
    for step in range(40):
        hidden = hidden_spans(torch.ones(16, 20, dtype=torch.bool), 0.15, 2, draw)
        ema_update(teacher, student, decay_at(step, 0.9, 0.99, 40))
        losses.append(state_loss(student(sound, None, hidden),
                                 averaged_states(teacher, 2, sound), hidden))  # fmt: skip
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.6 * losses[0]


KEPT = F.pad


def other_end(x: Tensor, pads: tuple[int, int]) -> Tensor:
    return KEPT(x, pads[::-1])


def without_norm(self: StackedPositionalConv, rows: Tensor) -> Tensor:
    x = rows.transpose(1, 2)
    for convolution in self.convolutions:
        x = self.activation(convolution(F.pad(x, self.pads)))
    return x.transpose(1, 2)


MUTATIONS: dict[str, tuple[str, Any]] = {
    "no norm between the convolutions": (
        "deepdive.models.speech.data2vec_audio.StackedPositionalConv.forward", without_norm),
    "padding at the other end of an even kernel": (
        "deepdive.models.speech.data2vec_audio.F.pad", other_end),
    "norms inside the branches": ("deepdive.core.residual.PostNorm.forward", PreNorm.forward),
    "no norm of the convolutions": (
        "deepdive.layers.speech_frontend.ChannelNorm.forward", lambda self, x: x),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    data2vec_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        data2vec_agrees()

"""Nystromformer and its convolution of values against transformers and torch, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import SIZES, reference, saved_and_loaded
from parity_proofs import alike, real, rows, tokens
from parity_registry import parity, perturb
from torch import nn
from transformers import NystromformerConfig, NystromformerModel, PreTrainedModel

from deepdive.attention.low_rank.nystrom import NystromAttention, by_head
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.core import gelu
from deepdive.published import family, load
from deepdive.published.weights import Change, adopt

NYSTROM: dict[str, Any] = {**SIZES, "num_landmarks": 4, "conv_kernel_size": 3}


def nystrom_at(length: int) -> PreTrainedModel:
    """Theirs for texts of one length, which four landmarks must divide; weights by seed."""
    settings = {**NYSTROM, "segment_means_seq_len": length}
    return reference(NystromformerModel, NystromformerConfig, **settings)


@parity("nystromformer", NystromAttention)
def nystromformer_agrees() -> None:
    theirs = nystrom_at(12)
    ours = saved_and_loaded(theirs, load)
    row, segments = tokens(3, 12, vocab=28), tokens(3, 12, vocab=6) - 4
    expected = theirs(row, token_type_ids=segments).last_hidden_state
    alike(ours, theirs, ours(row, None, segments), expected, [family("nystromformer").names])
    # Theirs counts padding in its landmarks, ours does not: a text between padding, in ours, is the
    # text alone in a model of theirs that is made for its length.
    short, place = nystrom_at(8), torch.arange(8)[None]
    for before in (0, 1):
        mask = torch.zeros(1, 11).bool()
        mask[:, before : before + 8] = True
        alone = row[:1, before : before + 8]
        expected = short(alone, position_ids=place + 2 + before).last_hidden_state
        alike(
            ours,
            short,
            ours(row[:1, :11], mask)[mask],
            expected[0],
            [family("nystromformer").names],
        )
    own_start()
    full_where_landmarks_are_many()


def own_start() -> None:
    """The paper's start, one number a matrix. Theirs has it behind a setting that cannot be set."""
    theirs = nystrom_at(12)
    ours = saved_and_loaded(theirs, load)
    for block, layer in zip(ours.stack.blocks, theirs.encoder.layer, strict=True):
        block.attn.mechanism.start = by_head
        layer.attention.self.init_option = "exact"
    row = tokens(3, 12, vocab=28)
    expected = theirs(row).last_hidden_state
    alike(ours, theirs, ours(row), expected, [family("nystromformer").names], silent=())


def full_where_landmarks_are_many() -> None:
    settings = {**NYSTROM, "segment_means_seq_len": 4, "conv_kernel_size": 5}
    theirs = reference(NystromformerModel, NystromformerConfig, **settings)
    ours = saved_and_loaded(theirs, load)
    row = tokens(2, 11, vocab=28)
    alike(ours, theirs, ours(row), theirs(row).last_hidden_state, [family("nystromformer").names])


@parity(ValueConvolution)
def value_convolution() -> None:
    for kernel, T in ((1, 5), (3, 7), (5, 3), (65, 131), (33, 32)):
        theirs = nn.Conv2d(3, 3, (kernel, 1), padding=(kernel // 2, 0), bias=False, groups=3)
        perturb(theirs.double())
        ours = ValueConvolution(3, kernel).double()
        rules = [Change(r"weight$", lambda weight: weight.flatten(1))]
        adopt(ours, theirs.state_dict(), rules)
        x, y, keys = rows(2, 3, T, 4), rows(2, 3, T, 4), real([T, T - 2], T)
        expected = theirs(y * keys[:, None, :, None])
        alike(ours, theirs, ours(x, keys), expected, rules, inputs=[(x, y)])


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "one iteration fewer": (
        nystromformer_agrees,
        "deepdive.attention.low_rank.nystrom.NystromAttention.__init__.__kwdefaults__",
        {"iterations": 5, "start": by_head, "convolution": None},
    ),
    "the form of GELU": (
        nystromformer_agrees,
        "deepdive.published.form.ACTIVATIONS",
        dict.fromkeys(("gelu", "gelu_new"), gelu),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError, RuntimeError)):
        proof()

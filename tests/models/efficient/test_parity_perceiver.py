"""Perceiver against transformers, in float64."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
import torch
from parity_bert import double_precision
from parity_proofs import alike, real, rows
from parity_registry import equal, parity, perturb
from transformers import PerceiverConfig, PerceiverModel

from deepdive.attention import ChannelAttention
from deepdive.layers.latent import LatentLayer
from deepdive.models.efficient import perceiver
from deepdive.published import load
from deepdive.published.families.efficient import PERCEIVER

SIZES = {
    "num_latents": 5,
    "d_latents": 16,
    "d_model": 12,
    "num_blocks": 2,
    "num_self_attends_per_block": 2,
    "num_self_attention_heads": 4,
    "num_cross_attention_heads": 2,
    "cross_attention_widening_factor": 3,
}


def reference(**settings: object) -> PerceiverModel:
    torch.manual_seed(0)
    return perturb(PerceiverModel(PerceiverConfig(**SIZES, **settings)).double().eval())


@parity(perceiver.Perceiver, LatentLayer, ChannelAttention)
def perceiver_agrees() -> None:
    for settings in (
        {},
        {"qk_channels": 8, "v_channels": 16},
        {"qk_channels": 24, "v_channels": 16},
    ):
        theirs = reference(**settings)
        with TemporaryDirectory() as folder, double_precision():
            theirs.save_pretrained(folder)
            ours = load(Path(folder))
        keys = real([9, 4], 9)
        x, y = (rows(2, 9, 12) for _ in range(2))
        output = ours(x, keys)
        expected = theirs(y, attention_mask=keys).last_hidden_state
        alike(
            ours, theirs, output, expected, [PERCEIVER.table(config=ours.config)], inputs=[(x, y)]
        )
        equal(ours(x), theirs(y).last_hidden_state)


def test_the_order_of_the_input_does_not_matter_and_its_length_costs_one_product() -> None:
    from deepdive_book.kit.flops import count_flops

    model, x = perceiver.perceiver(perceiver.TINY).double(), rows(1, 64, 16).detach()
    swapped = x[:, torch.randperm(64, generator=torch.Generator().manual_seed(0))]
    equal(model(swapped), model(x))
    costs = [count_flops(lambda n=n: model(rows(1, n, 16))) for n in (64, 128, 256)]
    first, second = (int(b) - int(a) for a, b in pairwise(costs))
    assert second == 2 * first


def test_a_folder_that_is_not_built_here_is_refused() -> None:
    for settings in ({"use_query_residual": False}, {"hidden_act": "relu"}):
        with TemporaryDirectory() as folder:
            reference(**settings).save_pretrained(folder)
            with pytest.raises(ValueError, match="config has"):
                load(Path(folder))


MUTATIONS = {
    "the scale of the whole width": (
        "deepdive.core.softmax.SoftmaxAttention.default_scale",
        staticmethod(lambda d: float((4 * d) ** -0.5)),
    ),
    "the norms' epsilon": (
        "deepdive.core.LayerNorm.forward",
        lambda self, x: torch.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-12),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        perceiver_agrees()

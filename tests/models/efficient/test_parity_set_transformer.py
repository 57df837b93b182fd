"""Set Transformer against its equations, Perceiver against transformers, in float64."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
import torch
from parity_attention import attend, joined, normed, projected
from parity_bert import double_precision
from parity_proofs import alike, real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor
from transformers import PerceiverConfig, PerceiverModel

from deepdive.attention import ChannelAttention
from deepdive.layers import FeedForward
from deepdive.layers.latent import LatentLayer
from deepdive.models.efficient import perceiver
from deepdive.models.efficient.set_transformer import ISAB, MAB, PMA, SAB, SetTransformer
from deepdive.published import load
from deepdive.published.efficient import PERCEIVER

# Set Transformer


def feed(ff: FeedForward, x: Tensor) -> Tensor:
    inner = (x @ ff.inner.weight.T + ff.inner.bias).clamp(min=0)
    return inner @ ff.out.weight.T + ff.out.bias


def mab(block: MAB, x: Tensor, y: Tensor, keys: Tensor) -> Tensor:
    """One set: x (T, 16) reads y (S, 16)."""
    q, k, v = projected(block.attn, x, y)
    heads = [attend(q[h], k[h], v[h], keys) for h in range(4)]
    h = normed(block.attn_residual, x + joined(block.attn, heads))
    return normed(block.ff_residual, h + feed(block.ff, h))


@parity(MAB, SAB, ISAB, PMA, SetTransformer)
def set_transformer_agrees() -> None:
    keys = real([7, 5], 7)
    for n_inducing in (3, None):
        ours = SetTransformer(3, 2, d_model=16, n_inducing=n_inducing, n_seeds=2)
        ours = perturb(ours.double())
        x = rows(2, 7, 3)
        output, sets = ours(x, keys), []
        for b in range(2):
            members = x[b] @ ours.enter.weight.T + ours.enter.bias
            for block in ours.encoder:
                if n_inducing is None:
                    members = mab(block.mab, members, members, keys[b])
                else:
                    heard = mab(block.read, block.inducing, members, keys[b])
                    members = mab(block.answer, members, heard, torch.ones(3).bool())
            pooled = mab(ours.pool.mab, ours.pool.seeds, feed(ours.pool.ff, members), keys[b])
            compared = mab(ours.compare.mab, pooled, pooled, torch.ones(2).bool())
            sets.append(compared @ ours.out.weight.T + ours.out.bias)
        expected = torch.stack(sets)
        equal(output, expected)
        leaves = {n: (p, p) for n, p in ours.named_parameters()}
        equal_gradients(output, expected, {"x": (x, x), **leaves})


def test_what_an_isab_passes_on_has_the_rank_of_its_inducing_rows() -> None:
    """All members' answers, before they are added, are mixtures of n_inducing rows."""
    isab, x = ISAB(16, 1, 3).double(), rows(1, 40, 16).detach()
    heard = isab.read(isab.inducing.expand(1, -1, -1), x)
    said = isab.answer.attn(x, heard)[0] - isab.answer.attn.out.bias
    size = torch.linalg.svdvals(said)
    assert size[3] < 1e-9 * size[0] < size[2]


# Perceiver

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
    from deepdive.page.flops import count_flops

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
    "a pooling without its own layer": (
        set_transformer_agrees,
        "deepdive.models.efficient.set_transformer.PMA.forward",
        lambda self, x, mask=None: self.mab(self.seeds.expand(len(x), -1, -1), x, mask),
    ),
    "the scale of the whole width": (
        perceiver_agrees,
        "deepdive.attention.softmax.SoftmaxAttention.default_scale",
        staticmethod(lambda d: float((4 * d) ** -0.5)),
    ),
    "the norms' epsilon": (
        perceiver_agrees,
        "deepdive.layers.LayerNorm.forward",
        lambda self, x: torch.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-12),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

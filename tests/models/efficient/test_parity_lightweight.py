"""DeLighT and Lite Transformer against loops over the papers' equations, in float64. The authors'
packages aren't installable here; their code was read for what the papers leave open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest import mock

import pytest
import torch
from parity_attention import attend, joined, normed
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.core.masks import Causal, Padding
from deepdive.core.stack import Stack
from deepdive.layers.dextra import DelightAttention, DExTra, GroupTransform
from deepdive.layers.lightweight_convolution import (
    DynamicKernel,
    GatedLightweightConvolution,
    LightweightConvolution,
    LongShortAttention,
    SharedKernel,
)
from deepdive.models.efficient import delight, lite_transformer

KEYS, X = real([6, 4], 6), rows(2, 6, 16)


def gelu(x: Tensor) -> Tensor:
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    centered = x - x.mean()
    return centered / (centered.pow(2).mean() + 1e-5).sqrt() * weight + bias


def transform(layer: GroupTransform, x: Tensor) -> Tensor:
    """One vector: the groups one by one, then number i of group g at place i * G + g."""
    G, per_in, per_out = layer.linear.weight.shape
    y = [
        sum(x[g * per_in + i] * layer.linear.weight[g, i, o] for i in range(per_in))
        + layer.linear.bias[g * per_out + o]
        for g in range(G)
        for o in range(per_out)
    ]
    if layer.shuffle:
        y = [y[g * per_out + o] for o in range(per_out) for g in range(G)]
    parts = torch.stack(y).split(per_out)
    return torch.cat([gelu(norm(part, layer.norm.weight, layer.norm.bias)) for part in parts])


def mixed(reduced: Tensor, y: Tensor, groups: int) -> Tensor:
    a, b = len(reduced) // groups, len(y) // groups
    return torch.cat([each for g in range(groups)
                      for each in (reduced[g * a : g * a + a], y[g * b : g * b + b])])  # fmt: skip


def dextra(unit: DExTra, x: Tensor) -> Tensor:
    y = reduced = transform(unit.reduce, x)
    for i, layer in enumerate(unit.transforms):
        y = transform(layer, y)
        last = i == len(unit.transforms) - 1
        y = mixed(reduced, y, 1 if last else unit.transforms[i + 1].groups)
    return transform(unit.join, y)


def light_attention(layer: DelightAttention, x: Tensor, keys: Tensor) -> Tensor:
    narrow, attn = torch.stack([dextra(layer.dextra, row) for row in x]), layer.attn
    k, v = (narrow @ attn.kv.weight.T + attn.kv.bias).chunk(2, -1)
    return joined(attn, [attend(narrow @ attn.q.weight.T + attn.q.bias, k, v, keys)])


def light_block(block: torch.nn.Module, x: Tensor, attended: Tensor) -> Tensor:
    x = normed(block.attn_residual, x + attended)
    inner = (x @ block.ff.inner.weight.T + block.ff.inner.bias).clamp(min=0)
    return normed(block.ff_residual, x + inner @ block.ff.out.weight.T + block.ff.out.bias)


@parity("delight", DelightAttention, DExTra, GroupTransform)
def delight_agrees() -> None:
    ours = perturb(delight.tiny().double())
    texts = []
    for b in range(2):
        x = X[b]
        for block in ours.blocks:
            x = light_block(block, x, light_attention(block.attn, x, KEYS[b]))
        texts.append(x)
    output, expected = ours(X, mask=Padding(KEYS))[KEYS], torch.stack(texts)[KEYS]
    equal(output, expected)
    # A key's bias adds the same to every score of a query: its gradient is 0 on both sides.
    leaves = {n: (p, p) for n, p in ours.named_parameters()}
    equal_gradients(output, expected, {"x": (X, X), **leaves})


def convolved(conv: LightweightConvolution, x: Tensor, keys: Tensor) -> Tensor:
    """One text (T, d_model), position by position; what is outside or padding counts as 0."""
    output, kernel = [], conv.W
    for t in range(len(x)):
        now = x[t] * keys[t]
        if isinstance(kernel, DynamicKernel):
            logits = kernel.logits.weight @ now + kernel.logits.bias
            weights = logits.view(kernel.n_heads, -1).softmax(-1)
        else:
            weights = kernel.weight.softmax(-1)
        per = x.shape[1] // kernel.n_heads
        row = []
        for c in range(x.shape[1]):
            total = x.new_zeros(())
            for j in range(weights.shape[1]):
                s = t + j - conv.left
                if 0 <= s < len(x) and keys[s]:
                    total = total + weights[c // per, j] * x[s, c]
            row.append(total)
        output.append(torch.stack(row))
    return torch.stack(output)


def gated(layer: GatedLightweightConvolution, x: Tensor, keys: Tensor) -> Tensor:
    values, gate = (x @ layer.inner.weight.T + layer.inner.bias).chunk(2, -1)
    y = convolved(layer.conv, values / (1 + (-gate).exp()), keys)
    return y @ layer.out.weight.T + layer.out.bias


def both_ranges(layer: LongShortAttention, x: Tensor, keys: Tensor, causal: bool) -> Tensor:
    attn, (far, near) = layer.attn, x.split(layer.sizes, -1)
    assert attn is not None
    assert layer.conv is not None
    n, d = attn.n_heads, attn.d_head
    keys_values = (far @ attn.kv.weight.T + attn.kv.bias).chunk(2, -1)
    projections = far @ attn.q.weight.T + attn.q.bias, *keys_values
    q, k, v = (z.view(len(x), n, d).transpose(0, 1) for z in projections)
    heads = []
    for h in range(n):
        seen = [keys & (torch.arange(len(x)) <= t) if causal else keys for t in range(len(x))]
        heads.append(torch.cat([attend(q[h][t : t + 1], k[h], v[h], seen[t])
                                for t in range(len(x))]))  # fmt: skip
    return torch.cat([joined(attn, heads), gated(layer.conv, near, keys)], -1)


@parity("lite_transformer", LongShortAttention, GatedLightweightConvolution,
        LightweightConvolution, SharedKernel, DynamicKernel)  # fmt: skip
def lite_agrees() -> None:
    for causal, dynamic in ((False, True), (True, True), (False, False)):
        ours = perturb(lite_transformer.lite_transformer(
            16, n_heads=2, kernels=(3, 5), causal=causal, dynamic=dynamic, dropout=0.0
        ).double())  # fmt: skip
        assert isinstance(ours, Stack)
        texts = []
        for b in range(2):
            x = X[b]
            for block in ours.blocks:
                x = light_block(block, x, both_ranges(block.attn, x, KEYS[b], causal))
            texts.append(x)
        mask = Padding(KEYS) & Causal() if causal else Padding(KEYS)
        output, expected = ours(X, mask=mask)[KEYS], torch.stack(texts)[KEYS]
        equal(output, expected)
        leaves = {n: (p, p) for n, p in ours.named_parameters()}
        equal_gradients(output, expected, {"x": (X, X), **leaves})


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "features that aren't shuffled": (
        delight_agrees, "deepdive.layers.dextra.GroupTransform.forward",
        lambda self, x: self.activation(
            self.norm(self.linear(x).unflatten(-1, (self.groups, -1))).flatten(-2)),
    ),
    "a kernel without its softmax": (
        lite_agrees, "deepdive.layers.lightweight_convolution.SharedKernel.forward",
        lambda self, x: torch.nn.functional.conv1d(
            x, self.weight.repeat_interleave(4, 0)[:, None], groups=8),
    ),
    "values without their gate": (
        lite_agrees, "deepdive.layers.lightweight_convolution.F.glu",
        lambda x: x.chunk(2, -1)[0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError, RuntimeError)):
        proof()


def test_the_proofs_hold_without_a_mutation() -> None:
    delight_agrees()
    lite_agrees()

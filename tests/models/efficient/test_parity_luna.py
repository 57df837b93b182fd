"""Luna and its nested attention against loops over the paper's equations, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_attention import attend, joined, normed, projected
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.attention.memories.luna_attention import NestedAttention
from deepdive.core.hooks import record
from deepdive.core.masks import Causal, Padding
from deepdive.models.efficient import luna
from deepdive.models.efficient.luna import LunaBlock, LunaStack


def causally(q: Tensor, slots: Tensor, met: Tensor, k: Tensor, v: Tensor, keys: Tensor) -> Tensor:
    """The causal form of one head by its definition, no sum kept. `met` are the packing's keys."""
    S, T, root = len(k), len(q), math.sqrt(q.shape[1])
    strength = torch.log2(1 + 2 ** (met @ slots.T / root))  # (S, n_slots)
    output = []
    for t in range(S - T, S):
        past = [j for j in range(t + 1) if keys[j]]
        scores = sum((q[t - S + T] @ k[j]) * strength[j] for j in past) / root / len(past)
        shares = scores.softmax(0)
        output.append(sum((shares @ strength[j]) * v[j] for j in past) / len(past))
    return torch.stack(output)


@parity(NestedAttention)
def nested() -> None:
    for T, S in ((9, 9), (4, 9), (70, 70)):
        ours = perturb(NestedAttention(2, 3, 5).double())
        keys = real([S, S - 2], S)
        q, k, v = rows(2, 2, T, 5), rows(2, 2, S, 5, seed=1), rows(2, 2, S, 5, seed=2)
        leaves = {"q": (q, q), "k": (k, k), "v": (v, v), "slots": (ours.slots, ours.slots)}
        for causal in (False, True):
            output = ours(q, k, v, Padding(keys) & Causal() if causal else Padding(keys))
            heads = []
            for b in range(2):
                for h in range(2):
                    slots, all_slots = ours.slots[h], torch.ones(3).bool()
                    if causal:
                        heads.append(causally(q[b, h], slots, k[b, h], k[b, h], v[b, h], keys[b]))
                    else:
                        packed = attend(slots, k[b, h], v[b, h], keys[b])
                        heads.append(attend(q[b, h], packed, packed, all_slots))
            expected = torch.stack(heads).view(2, 2, T, 5)
            equal(output, expected)
            equal_gradients(output, expected, leaves)


def layer_of_luna(
    block: LunaBlock, x: Tensor, memory: Tensor, keys: Tensor, causal: bool
) -> tuple[Tensor, Tensor]:
    """One text through one layer: x (T, 16), memory (n_slots, 16), keys (T,)."""
    slots, met, packed_v = projected(block.pack, memory, x)
    if causal:
        q, k, v = projected(block.unpack, x, x)
        heads = [causally(q[h], slots[h], met[h], k[h], v[h], keys) for h in range(4)]
        after = memory
    else:
        packed = joined(block.pack, [attend(slots[h], met[h], packed_v[h], keys) for h in range(4)])
        q, k, v = projected(block.unpack, x, packed)
        every = torch.ones(len(packed)).bool()
        heads = [attend(q[h], k[h], v[h], every) for h in range(4)]
        after = normed(block.memory_residual, memory + packed)
    x = normed(block.attn_residual, x + joined(block.unpack, heads))
    inner = (x @ block.ff.inner.weight.T + block.ff.inner.bias).clamp(min=0)
    x = normed(block.ff_residual, x + inner @ block.ff.out.weight.T + block.ff.out.bias)
    return x, after


@parity(LunaStack, LunaBlock)
def luna_agrees() -> None:
    ours = perturb(luna.tiny().double())
    keys = real([9, 6], 9)
    x = rows(2, 9, 16)
    for causal in (False, True):
        mask = Padding(keys) & Causal() if causal else Padding(keys)
        tokens, memory = ours.both(x, mask)
        texts = []
        for b in range(2):
            row, kept = x[b], ours.memory
            for block in ours.blocks:
                row, kept = layer_of_luna(block, row, kept, keys[b], causal)
            texts.append((row, kept))
        output = torch.cat((tokens[keys].flatten(), memory.flatten()))
        states = torch.stack([row for row, _ in texts])[keys]
        expected = torch.cat((states.flatten(), torch.stack([p for _, p in texts]).flatten()))
        equal(output, expected)
        used = {n: (p, p) for n, p in ours.named_parameters()
                if not causal or not ("memory_residual" in n or "pack.out" in n)
                or "unpack" in n}  # fmt: skip
        equal_gradients(output, expected, {"x": (x, x), **used})


def test_the_second_stream_reads_every_token_and_is_recorded() -> None:
    stack, x = luna.tiny().double(), rows(2, 9, 16).detach()
    with record(stack, "*weights") as seen:
        _, memory = stack.both(x)
    assert memory.shape == (2, 3, 16)
    assert {tuple(w[0].shape) for w in seen.values()} == {(2, 4, 3, 9), (2, 4, 9, 3)}
    x[0, -1] += 1
    changed = (stack.both(x)[1] - memory).abs().amax(-1) > 1e-6
    assert changed[0].all()
    assert not changed[1].any()


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "a softplus to base e": (
        nested,
        "deepdive.attention.memories.luna_attention.packing_strength",
        lambda slots, k, scale: F.softplus(k @ (scale * slots).mT),
    ),
    "a memory without its norm": (
        luna_agrees,
        "deepdive.core.LayerNorm.forward",
        lambda self, x: torch.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-12),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError, RuntimeError)):
        proof()

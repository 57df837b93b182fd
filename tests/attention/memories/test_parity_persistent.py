"""Persistent memory attention against loops over the paper's equations, and against torch's own
added key and value; all-attention layers from these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest import mock

import pytest
import torch
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn

from deepdive.attention import PersistentMemoryAttention
from deepdive.core import KVCache, MultiHeadAttention
from deepdive.core.masks import Causal, Padding
from deepdive.models.efficient import all_attention


def by_loops(
    ours: PersistentMemoryAttention, q: Tensor, k: Tensor, v: Tensor, keys: Tensor, causal: bool
) -> Tensor:
    """One softmax over the tokens and the persistent vectors, query by query, for one (H, T, d)."""
    output, shift = [], k.shape[1] - q.shape[1]
    for h in range(len(q)):
        for t in range(q.shape[1]):
            scores, values = [], []
            for j in range(k.shape[1]):
                if keys[j] and (not causal or j <= t + shift):
                    scores.append(q[h, t] @ k[h, j] / math.sqrt(q.shape[2]))
                    values.append(v[h, j])
            for key, value in zip(ours.memory_keys[h], ours.memory_values[h], strict=True):
                scores.append(q[h, t] @ key)  # sqrt(d) key, and the scale 1 / sqrt(d)
                values.append(value * math.sqrt(ours.n_slots))
            weights = torch.stack(scores).exp()
            output.append((weights[:, None] / weights.sum() * torch.stack(values)).sum(0))
    return torch.stack(output).view_as(q)


@parity(PersistentMemoryAttention)
def persistent() -> None:
    for T, S in ((6, 6), (3, 6)):
        ours, keys = perturb(PersistentMemoryAttention(3, 4, 5).double()), real([S, S - 2], S)
        q, k, v = rows(2, 3, T, 5), rows(2, 3, S, 5, seed=1), rows(2, 3, S, 5, seed=2)
        leaves = {"q": (q, q), "k": (k, k), "v": (v, v)}
        leaves |= {n: (p, p) for n, p in ours.named_parameters()}
        for causal in (False, True):
            output = ours(q, k, v, Padding(keys) & Causal() if causal else Padding(keys))
            texts = [by_loops(ours, q[b], k[b], v[b], keys[b], causal) for b in range(2)]
            equal(output, torch.stack(texts))
            equal_gradients(output, torch.stack(texts), leaves)
    torch_adds_one()


def torch_adds_one() -> None:
    """With one vector per head this is torch.nn.MultiheadAttention with `add_bias_kv`."""
    theirs = nn.MultiheadAttention(12, 3, add_bias_kv=True, batch_first=True).double()
    mechanism = PersistentMemoryAttention(3, 1, 4).double()
    layer = MultiHeadAttention(12, 3, mechanism=mechanism).double()
    perturb(theirs)
    with torch.no_grad():
        layer.q.weight.copy_(theirs.in_proj_weight[:12])
        layer.kv.weight.copy_(theirs.in_proj_weight[12:])
        layer.q.bias.copy_(theirs.in_proj_bias[:12])
        layer.kv.bias.copy_(theirs.in_proj_bias[12:])
        layer.out.load_state_dict(theirs.out_proj.state_dict())
        mechanism.memory_keys.copy_(theirs.bias_k.view(3, 1, 4) / 2)  # stored without sqrt(d_head)
        mechanism.memory_values.copy_(theirs.bias_v.view(3, 1, 4))
    x = rows(2, 7, 12)
    later = torch.ones(7, 7).bool().triu(1)
    output, expected = layer(x, mask=Causal()), theirs(x, x, x, attn_mask=later)[0]
    equal(output, expected)
    (ours,) = torch.autograd.grad(output.pow(2).sum(), mechanism.memory_keys, retain_graph=True)
    (other,) = torch.autograd.grad(expected.pow(2).sum(), theirs.bias_k, retain_graph=True)
    equal(ours, 2 * other.view(3, 1, 4))
    equal_gradients(
        output, expected, {"x": (x, x), "out": (layer.out.weight, theirs.out_proj.weight)}
    )


@parity("all_attention")
def layers() -> None:
    """x + attention(norm(x)), nothing else; the mechanism from its loops."""
    block = perturb(all_attention.all_attention_block(12, 3, 4).double())
    x, every = rows(2, 6, 12), torch.ones(6).bool()
    output, texts = block(x, mask=Causal()), []
    for row in x:
        centered = row - row.mean(-1, keepdim=True)
        normed = centered / (centered.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()
        normed = normed * block.attn_residual.norm.weight + block.attn_residual.norm.bias
        q = normed @ block.attn.q.weight.T + block.attn.q.bias
        k, v = (normed @ block.attn.kv.weight.T + block.attn.kv.bias).chunk(2, -1)
        q, k, v = (each.view(6, 3, 4).transpose(0, 1) for each in (q, k, v))
        heads = by_loops(block.attn.mechanism, q, k, v, every, causal=True)
        joined = torch.cat(list(heads), -1)
        texts.append(row + joined @ block.attn.out.weight.T + block.attn.out.bias)
    equal(output, torch.stack(texts))
    leaves = {"x": (x, x)} | {n: (p, p) for n, p in block.named_parameters()}
    equal_gradients(output, torch.stack(texts), leaves)


def test_a_cache_holds_the_tokens_alone() -> None:
    model, cache = all_attention.tiny().eval(), KVCache()
    tokens = torch.randint(32, (2, 9))
    with torch.no_grad():
        steps = [model.decoder(tokens[:, t : t + 1], cache=cache) for t in range(9)]
        full = model.decoder(tokens)
    assert [slot.length for slot in cache.slots] == [9, 9]
    assert torch.allclose(torch.cat(steps, 1), full, atol=1e-5)


def test_as_many_parameters_as_a_feed_forward_layer() -> None:
    mechanism = PersistentMemoryAttention(4, 64, 4)
    assert sum(p.numel() for p in mechanism.parameters()) == 2 * 16 * 64


def _without_root(self: PersistentMemoryAttention, *args: Tensor) -> Tensor:
    with mock.patch.object(self, "roots", (1.0, self.roots[1])):
        return STEPS(self, *args)  # type: ignore[arg-type]


STEPS = PersistentMemoryAttention.steps
MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "keys without their root": (persistent, "steps", _without_root),
    "persistent vectors that a mask hides": (
        layers,
        "_widened",
        lambda self, pairs, S, value: (
            None
            if pairs is None
            else torch.nn.functional.pad(pairs, (0, self.n_slots), value=False)
        ),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, method, wrong = MUTATIONS[name]
    with mock.patch.object(PersistentMemoryAttention, method, wrong), pytest.raises(AssertionError):
        proof()

"""Clusters, compressed memories and nested attention against loops over the papers' equations."""

from __future__ import annotations

import math
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_attention import attend, joined, normed, projected
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn

from deepdive.attention import SoftmaxAttention
from deepdive.attention.by_content.clustered import ClusteredAttention, ImprovedClusteredAttention
from deepdive.attention.memories.compressed import MemoryCompressedAttention
from deepdive.attention.memories.nested import NestedAttention
from deepdive.inspect import record
from deepdive.masks import Causal, Padding
from deepdive.models.efficient import luna
from deepdive.models.efficient.luna import LunaBlock, LunaStack

# Clusters


def lloyd(code: Tensor, keys: Tensor, n_clusters: int, iterations: int) -> Tensor:
    """Clusters of one head by the definition, by counting signs that differ."""
    there = keys.nonzero().flatten().tolist()
    n = len(there)
    starts = [there[min(i * n // n_clusters if n > n_clusters else i, n - 1)]
              for i in range(n_clusters)]  # fmt: skip
    centre = code[starts].clone()

    def nearest() -> Tensor:
        distance = torch.tensor([[(row != c).sum() for c in centre] for row in code])
        return torch.tensor([int((d == d.min()).nonzero()[0]) for d in distance])

    group = nearest()
    for _ in range(iterations):
        for c in range(n_clusters):
            members = [t for t in there if group[t] == c]
            votes = code[members].sum(0)
            centre[c] = torch.where(votes == 0, centre[c], votes.sign())
        group = nearest()
    return group


def by_the_paper(
    mechanism: ClusteredAttention, q: Tensor, k: Tensor, v: Tensor, keys: Tensor
) -> Tensor:
    """One head at a time, T x S weights written out."""
    top = getattr(mechanism, "top", 0)
    T = q.shape[2]
    asked = keys if k.shape[2] == T else torch.ones(len(q), T).bool()
    output = torch.zeros(*q.shape[:3], v.shape[3], dtype=q.dtype)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            code = (q[b, h].float() @ mechanism.planes.float()).sign()
            group = lloyd(code, asked[b], mechanism.n_clusters, mechanism.iterations)
            for t in range(T):
                members = [s for s in range(T) if group[s] == group[t] and asked[b, s]]
                centre = q[b, h, members].mean(0) if members else torch.zeros_like(q[b, h, 0])
                scores = k[b, h] @ centre / math.sqrt(q.shape[3])
                weights = scores.masked_fill(~keys[b], -torch.inf).softmax(0)
                if top:
                    best = weights.argsort(descending=True)[:top]
                    best = best[keys[b, best]]
                    own = (k[b, h, best] @ q[b, h, t] / math.sqrt(q.shape[3])).softmax(0)
                    weights = weights.index_put((best,), weights[best].sum() * own)
                output[b, h, t] = weights @ v[b, h]
    return output


@parity(ClusteredAttention)
def clustered() -> None:
    clusters_agree(lambda: ClusteredAttention(6, 4, bits=16, iterations=3))


@parity(ImprovedClusteredAttention)
def improved() -> None:
    clusters_agree(lambda: ImprovedClusteredAttention(6, 4, top=5, bits=16, iterations=3))


def clusters_agree(make) -> None:  # type: ignore[no-untyped-def]
    """Odd lengths, more rows than a block holds, padding, queries and keys of other lengths."""
    for T, S in ((71, 71), (13, 21)):
        torch.manual_seed(T)
        ours = make().double()
        keys = real([S, S - 10], S)
        q, k, v = rows(2, 2, T, 6), rows(2, 2, S, 6, seed=1), rows(2, 2, S, 5, seed=2)
        output = ours(q, k, v, Padding(keys))
        expected = by_the_paper(ours, q, k, v, keys)
        asked = keys if T == S else torch.ones(2, T).bool()
        seen = asked[:, None, :, None].expand_as(output)
        output, expected = output[seen], expected[seen]
        equal(output, expected)
        equal_gradients(output, expected, {"q": (q, q), "k": (k, k), "v": (v, v)})


def weights_of(mechanism: nn.Module, q: Tensor, k: Tensor) -> Tensor:
    """What a mechanism gives each key, (B, H, T, S): its output for values of the identity."""
    identity = torch.eye(k.shape[2], dtype=k.dtype).expand(*k.shape[:3], k.shape[2])
    return mechanism(q, k, identity)


def test_weighing_the_best_keys_again_never_hurts() -> None:
    """Row by row, in the sum of absolute differences; and more clusters, or more keys, help."""
    q, k = (2 * rows(1, 2, 90, 8, seed=i).detach() for i in range(2))
    exact = weights_of(SoftmaxAttention(), q, k)
    errors = {}
    for n_clusters in (3, 30):
        for top in (0, 5, 45):
            torch.manual_seed(0)
            kind = ImprovedClusteredAttention if top else ClusteredAttention
            ours = kind(8, n_clusters, bits=63, **({"top": top} if top else {})).double()
            errors[n_clusters, top] = (weights_of(ours, q, k) - exact).abs().sum(-1)
        assert (errors[n_clusters, 5] <= errors[n_clusters, 0] + 1e-12).all()
        assert errors[n_clusters, 45].mean() < errors[n_clusters, 5].mean()
    assert errors[30, 0].mean() < errors[3, 0].mean()


# Memory-compressed


@parity(MemoryCompressedAttention)
def compressed() -> None:
    """Torch's strided convolution, head by head, and its fused kernel; causal, odd lengths."""
    for rate, S, T in ((3, 17, 17), (2, 13, 5), (4, 4, 4)):
        ours = perturb(MemoryCompressedAttention(3, 6, rate).double())
        keys = real([S, S - 3], S)
        q, k, v = rows(2, 3, T, 6), rows(2, 3, S, 6, seed=1), rows(2, 3, S, 6, seed=2)
        for causal in (False, True):
            mask = Padding(keys) & Causal() if causal else Padding(keys)
            output = ours(q, k, v, mask)
            melted = []
            for x, weight, bias in ((k, ours.k_weight, None), (v, ours.v_weight, ours.v_bias)):
                x = F.pad(x * keys[:, None, :, None], (0, 0, 0, -S % rate))
                heads = []
                for h in range(3):
                    kernel = weight[h].view(rate, 6, 6).permute(2, 1, 0)
                    shift = None if bias is None else bias[h, 0]
                    heads.append(F.conv1d(x[:, h].mT, kernel, shift, stride=rate).mT)
                melted.append(torch.stack(heads, 1))
            allowed = torch.zeros(2, 1, T, -(-S // rate)).bool()
            for b in range(2):
                for t in range(T):
                    for j in range(allowed.shape[3]):
                        members = range(j * rate, min((j + 1) * rate, S))
                        over = not causal or (j + 1) * rate - 1 <= S - T + t
                        allowed[b, 0, t, j] = over and any(keys[b, i] for i in members)
            expected = F.scaled_dot_product_attention(q, *melted, allowed)
            equal(output, expected)
            leaves = {"q": (q, q), "k": (k, k), "v": (v, v)}
            leaves |= {n: (p, p) for n, p in ours.named_parameters()}
            equal_gradients(output, expected, leaves)


# Luna


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


MUTATIONS = {
    "a softplus to base e": (
        nested,
        "deepdive.attention.memories.nested.packing_strength",
        lambda slots, k, scale: F.softplus(k @ (scale * slots).mT),
    ),
    "a memory without its norm": (
        luna_agrees,
        "deepdive.layers.LayerNorm.forward",
        lambda self, x: torch.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-12),
    ),
    "padded queries in the means": (
        clustered,
        "deepdive.attention.by_content.clustered.all_real",
        lambda real, k: torch.ones(1, k.shape[2]).bool(),
    ),
    "the best keys of another cluster": (
        improved,
        "deepdive.attention.by_content.clustered.of_owner",
        lambda rows, owner: rows[:, :, :1].expand(-1, -1, owner.shape[2], -1),
    ),
    "a position off by one": (
        compressed,
        "deepdive.attention.memories.compressed.MemoryCompressedAttention._melt",
        (lambda kept: lambda self, rows, *rest: kept(self, rows.roll(1, 2), *rest))(
            MemoryCompressedAttention._melt
        ),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()


def test_no_memory_grows_with_the_square() -> None:
    """Twice the rows, twice the largest tensor: nothing of T x S is made, backward included."""

    def largest(mechanism: nn.Module, n: int, mask: Causal | None) -> int:
        sizes = [0]
        hooks = torch.autograd.graph.saved_tensors_hooks(
            lambda t: (sizes.append(t.numel()), t)[1], lambda t: t
        )
        q, k, v = (rows(1, 2, n, 4, seed=i).float().detach().requires_grad_() for i in range(3))
        with hooks:
            mechanism(q, k, v, mask).sum().backward()
        return max(sizes)

    for make, masks in (
        (lambda: NestedAttention(2, 4, 4), (None, Causal())),
        (lambda: ClusteredAttention(4, 4), (None,)),
        (lambda: ImprovedClusteredAttention(4, 4, top=8), (None,)),
    ):
        for mask in masks:
            small, large = (largest(make(), n, mask) for n in (512, 1024))
            assert large <= 2.1 * small

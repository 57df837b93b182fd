"""Memformer against loops over the paper's equations, in float64: three segments, then a target,
with gradients through the slots.
"""

from __future__ import annotations

import math
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_attention import attend, joined, projected
from parity_proofs import real, tokens
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.core import Block, LayerNorm
from deepdive.core.multi_head import split_heads
from deepdive.layers.slot_writer import SlotWriter
from deepdive.models.efficient import memformer
from deepdive.models.efficient.memformer import Memformer, MemformerEncoder

SEGMENTS = [tokens(2, 5, vocab=32, seed=i) for i in range(3)]
KEYS = [real(lengths, 5) for lengths in ([5, 3], [4, 5], [5, 5])]
TARGET = tokens(2, 4, vocab=32, seed=7)


def normed(norm: LayerNorm, x: Tensor) -> Tensor:
    centered = x - x.mean(-1, keepdim=True)
    size = (centered.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()
    return centered / size * norm.weight + norm.bias


def embedded(table: Tensor, text: Tensor) -> Tensor:
    """4 times the embedding, and sines and cosines of the position in the segment."""
    rows = []
    for t, token in enumerate(text.tolist()):
        angles = [t / 10_000 ** (2 * (i // 2) / 16) for i in range(16)]
        waves = [math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)]
        rows.append(4 * table[token] + torch.tensor(waves, dtype=torch.float64))
    return torch.stack(rows)


def layer(
    block: Block, x: Tensor, keys: Tensor, read: Tensor, there: Tensor, causal: bool
) -> Tensor:
    """One text: self-attention, attention to the states `read`, of which `there` are real, ff."""
    y = normed(block.attn_residual.norm, x)
    q, k, v = projected(block.attn, y, y)
    heads = []
    for h in range(4):
        rows = []
        for t in range(len(x)):
            seen = keys & (torch.arange(len(x)) <= t) if causal else keys
            rows.append(attend(q[h, t : t + 1], k[h], v[h], seen))
        heads.append(torch.cat(rows))
    x = x + joined(block.attn, heads)
    q, k, v = projected(block.cross, normed(block.cross_residual.norm, x), read)
    x = x + joined(block.cross, [attend(q[h], k[h], v[h], there) for h in range(4)])
    y = normed(block.ff_residual.norm, x)
    inner = y @ block.ff.inner.weight.T + block.ff.inner.bias
    inner = inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
    return x + inner @ block.ff.out.weight.T + block.ff.out.bias


def written(writer: SlotWriter, slots: list[Tensor], states: list[Tensor]) -> list[Tensor]:
    """Each slot attends to itself and to every state."""
    after = []
    for slot, bias in zip(slots, writer.bias, strict=True):
        heads = []
        for h in range(4):
            part = slice(4 * h, 4 * h + 4)
            q = (writer.q.weight @ slot)[part]
            keys = [(writer.k.weight @ each)[part] for each in (slot, *states)]
            scores = torch.stack([q @ k for k in keys]) / (2 * writer.temperature)
            values = [slot[part], *((writer.v.weight @ x)[part] for x in states)]
            heads.append(sum(w * v for w, v in zip(scores.softmax(0), values, strict=True)))
        raw = torch.cat(heads) + bias
        after.append(raw / raw.pow(2).sum().sqrt())
    return after


def by_loops(model: Memformer, b: int) -> tuple[Tensor, Tensor]:
    """Logits (T, V) and final slots of text b."""
    writer, table = model.writer, model.encoder.embedding.weight
    assert writer is not None
    slots = [bias / bias.pow(2).sum().sqrt() for bias in writer.bias]
    for segment, keys in zip(SEGMENTS, KEYS, strict=True):
        x, read = embedded(table, segment[b]), torch.stack(slots)
        for block in model.encoder.stack.blocks:
            x = layer(block, x, keys[b], read, torch.ones(3).bool(), causal=False)
        x = normed(model.encoder.stack.norm, x)
        slots = written(
            writer, slots, [row for row, there in zip(x, keys[b], strict=True) if there]
        )
    y = embedded(table, TARGET[b])
    for block in model.decoder.stack.blocks:
        y = layer(block, y, torch.ones(4).bool(), x, KEYS[-1][b], causal=True)
    return normed(model.decoder.stack.norm, y) @ table.T, torch.stack(slots)


@parity("memformer", Memformer, MemformerEncoder, SlotWriter)
def memformer_agrees() -> None:
    torch.manual_seed(0)
    model = memformer.tiny().double()
    perturb(model)
    state = None
    for segment, keys in zip(SEGMENTS, KEYS, strict=True):
        state = model.begin(segment, keys, None if state is None else state.slots)
    assert state is not None
    assert state.slots is not None
    logits = model.head(model.decode(TARGET, state))
    expected = [by_loops(model, b) for b in range(2)]
    output = torch.cat((logits.flatten(), state.slots.flatten()))
    wanted = torch.cat([torch.stack(part).flatten() for part in zip(*expected, strict=True)])
    equal(output, wanted)
    equal_gradients(output, wanted, {n: (p, p) for n, p in model.named_parameters()})


def without_itself(self: SlotWriter, slots: Tensor, states: Tensor, real: object = None) -> Tensor:
    q, k, v = (split_heads(x, 4) for x in (self.q(slots), self.k(states), self.v(states)))
    weights = (q @ k.transpose(-2, -1) / (2 * self.temperature)).softmax(-1)
    return F.normalize((weights @ v).transpose(1, 2).flatten(2) + self.bias, dim=-1)


def forgets_nothing(self: SlotWriter, slots: Tensor, states: Tensor, real: object = None) -> Tensor:
    return self.attend(slots, states, real) + self.bias


MUTATIONS = {"a slot that does not attend to itself": without_itself, "no norm": forgets_nothing}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    with (
        mock.patch.object(SlotWriter, "forward", MUTATIONS[name]),
        pytest.raises(AssertionError),
    ):
        memformer_agrees()


def test_the_slots_carry_gradients_to_the_first_segment() -> None:
    model = memformer.tiny()
    state = model.begin(torch.tensor([[4, 5]]))
    state = model.begin(torch.tensor([[6, 7]]), slots=state.slots)
    model.decode(torch.tensor([[8]]), state)[..., 0].sum().backward()
    gradient = model.encoder.embedding.weight.grad
    assert gradient is not None
    assert gradient[4:6].abs().sum() > 0

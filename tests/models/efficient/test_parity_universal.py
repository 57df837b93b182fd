"""The Universal Transformer with ACT against loops over positions and steps, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from unittest import mock

import pytest
import torch
from parity_attention import attend, joined, normed, projected
from parity_proofs import real, rows, tokens
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.core import Block, Context, KVCache
from deepdive.core.hooks import collect_losses
from deepdive.core.masks import Causal, Padding
from deepdive.layers.universal_stack import UniversalStack
from deepdive.models.efficient import universal


def sinusoid(at: int) -> Tensor:
    pairs = [(math.sin(at / 1e4 ** (2 * i / 16)), math.cos(at / 1e4 ** (2 * i / 16)))
             for i in range(8)]  # fmt: skip
    return torch.tensor(pairs, dtype=torch.float64).flatten()


def block_by_hand(block: Block, x: Tensor, keys: Tensor, causal: bool) -> Tensor:
    """One text through a post-norm layer: x (T, 16), keys bool (T,)."""
    q, k, v = projected(block.attn, x, x)
    heads = []
    for h in range(4):
        seen = [keys & (torch.arange(len(x)) <= t if causal else True) for t in range(len(x))]
        heads.append(torch.cat([attend(q[h, t : t + 1], k[h], v[h], seen[t])
                                for t in range(len(x))]))  # fmt: skip
    x = normed(block.attn_residual, x + joined(block.attn, heads))
    inner = (x @ block.ff.inner.weight.T + block.ff.inner.bias).clamp(min=0)
    return normed(block.ff_residual, x + inner @ block.ff.out.weight.T + block.ff.out.bias)


def by_loops(
    stack: UniversalStack, x: Tensor, keys: Tensor, causal: bool
) -> tuple[Tensor, Tensor, list[int]]:
    """One text, Graves's definition position by position: the average states, the remainders, and
    N. All steps are computed first; each position then keeps those up to its N.
    """
    T = len(x)
    halted = [0 if keys[t] else 1 for t in range(T)]  # the step at which it halted; 1: padding
    states, chances = [x], []
    for step in range(1, stack.n_steps + 1):
        coded = torch.stack([states[-1][t] + sinusoid(t) + sinusoid(step) for t in range(T)])
        chances.append([torch.sigmoid(row @ stack.halt.weight[0] + stack.halt.bias[0])
                        for row in coded])  # fmt: skip
        after = block_by_hand(stack.blocks[0], coded, keys, causal)
        moved = []
        for t in range(T):
            moved.append(states[-1][t] if halted[t] else after[t])
            so_far = sum(float(chances[s][t].detach()) for s in range(step))
            if not halted[t] and (so_far >= 1 - stack.epsilon or step == stack.n_steps):
                halted[t] = step
        states.append(torch.stack(moved))
    averages, remainders = [], []
    for t in range(T):
        if not keys[t]:
            averages.append(torch.zeros_like(x[t]))
            remainders.append(x.new_zeros(()))
            continue
        N = halted[t]
        remainder = 1 - sum(chances[s][t] for s in range(N - 1))
        shares = [chances[s][t] for s in range(N - 1)] + [remainder]
        averages.append(sum(p * states[s + 1][t] for s, p in enumerate(shares)))
        remainders.append(remainder)
    return (
        torch.stack(averages),
        torch.stack(remainders),
        [n * int(k) for n, k in zip(halted, keys, strict=True)],
    )


@parity(UniversalStack)
def universal_agrees() -> None:
    stack = perturb(universal.tiny().double())
    assert isinstance(stack, UniversalStack)
    keys, x = real([7, 4], 7), rows(2, 7, 16)
    for causal in (False, True):
        mask = Padding(keys) & Causal() if causal else Padding(keys)
        with collect_losses(stack) as losses:
            states = stack(x, mask=mask)
        ours = stack.pondered(x, Context(mask=mask))
        texts = [by_loops(stack, x[b], keys[b], causal) for b in range(2)]
        numbers = [n for _, _, some in texts for n in some if n]
        assert len(set(numbers)) > 1, "all positions take the same number of steps"
        assert ours.steps.long().tolist() == [some for _, _, some in texts]
        remainders = torch.stack([r for _, r, _ in texts])
        cost = 0.01 * (sum(numbers) + remainders.sum()) / keys.sum()
        output = torch.cat((states.flatten(), 1e3 * losses.total().view(1)))
        expected = torch.cat((torch.stack([a for a, _, _ in texts]).flatten(), 1e3 * cost.view(1)))
        equal(output, expected)
        leaves = {"x": (x, x)} | {n: (p, p) for n, p in stack.named_parameters()}
        equal_gradients(output, expected, leaves)


def test_weights_sum_to_one_and_halted_states_are_copied() -> None:
    stack = perturb(universal.tiny().double())
    x = rows(2, 7, 16).detach()
    with torch.no_grad():
        full = stack.pondered(x, Context())
        assert torch.allclose(full.weights.sum(-1), torch.ones(2, 7).double())
        assert torch.equal(full.steps, (full.weights > 0).sum(-1).double())
        last = full.weights.gather(-1, full.steps.long()[..., None] - 1)[..., 0]
        assert torch.allclose(last, full.remainders)
        inputs: list[Tensor] = []
        original = stack.coded
        with mock.patch.object(
            stack, "coded", lambda x, *more: inputs.append(x) or original(x, *more)
        ):
            stack(x)
    assert len(inputs) == full.steps.max()
    for step in range(1, len(inputs)):  # the input of step + 1 is what step left
        halted = full.steps < step
        assert halted.any() or step < full.steps.min() + 1
        assert torch.equal(inputs[step][halted], inputs[step - 1][halted])
        assert not torch.equal(inputs[step][~halted], inputs[step - 1][~halted])


def test_the_ponder_cost_reaches_the_halting_unit_through_the_remainder_alone() -> None:
    stack, x = perturb(universal.tiny().double()), rows(2, 7, 16)
    ours = stack.pondered(x, Context())
    assert not ours.steps.requires_grad
    with collect_losses(stack) as losses:
        stack(x)
    by_cost = torch.autograd.grad(losses.total(), stack.halt.weight)[0]
    again = stack.pondered(x, Context())
    by_remainder = torch.autograd.grad(0.01 * again.remainders.mean(), stack.halt.weight)[0]
    assert by_cost.abs().max() > 1e-6
    assert torch.allclose(by_cost, by_remainder)


def test_an_encoder_decoder_decodes_step_by_step() -> None:
    torch.manual_seed(0)
    model = perturb(
        universal.universal(28, d_model=16, n_heads=4, n_steps=3, d_ff=24, dropout=0.0).double()
    ).eval()
    src, tgt = tokens(2, 5, vocab=28), tokens(2, 6, vocab=28, seed=1)
    with torch.no_grad():
        full, state = model(src, tgt), model.begin(src)
        steps = torch.cat([model.step(tgt[:, t : t + 1], state) for t in range(6)], 1)
    equal(steps, full)
    plain = sum(p.numel() for p in model.encoder.stack.blocks[0].parameters())
    assert sum(p.numel() for p in model.encoder.stack.parameters()) == plain + 17


def test_a_cache_is_filled_by_every_step() -> None:
    stack, cache = perturb(universal.tiny().double()), KVCache()
    with torch.no_grad():
        stack(rows(1, 1, 16).detach(), mask=Causal(), cache=cache)
    assert [slot.length for slot in cache.slots] == [1] * 4


def _running_on(real_update: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """torch.where that never copies a halted state."""

    def where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return a if condition.ndim == 3 else real_update(condition, a, b)

    return where


MUTATIONS: dict[str, tuple[str, object]] = {
    "halted states that move on": (
        "deepdive.layers.universal_stack.torch.where",
        _running_on(torch.where),
    ),
    "no time coding": (
        "deepdive.layers.universal_stack.UniversalStack.coded",
        lambda self, x, context, step: self.sinusoids.embed(x, torch.arange(x.shape[1])),
    ),
    "padding that ponders": (
        "deepdive.layers.universal_stack.real_positions",
        lambda x, context: torch.ones(x.shape[:2]).bool(),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError, RuntimeError)):
        universal_agrees()

"""The Compressive Transformer against loops over the paper's equations, in float64: logits, what
both memories hold, and the reconstruction loss, with gradients.
"""

from __future__ import annotations

import math
from unittest import mock

import pytest
import torch
from parity_proofs import tokens
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.core.hooks import collect_losses
from deepdive.layers.compressed_memory import Compression, CompressiveMemory
from deepdive.models.efficient import compressive
from deepdive.models.efficient.compressive import CompressiveTransformer
from deepdive.models.efficient.transformer_xl import XLBlock
from deepdive.models.efficient.transformer_xl_lm import TransformerXLLM, for_lm

Memories = list[list[Tensor]]
TEXT = tokens(1, 14, vocab=32)  # segments of 3, 3, 3, 3, and 2 tokens


def normed(norm: torch.nn.Module, x: Tensor) -> Tensor:
    centered = x - x.mean()
    return centered / (centered.pow(2).mean() + 1e-5).sqrt() * norm.weight + norm.bias


def waves(distance: int) -> Tensor:
    angles = [distance / 10_000 ** (2 * i / 16) for i in range(8)]
    return torch.tensor(
        [math.sin(a) for a in angles] + [math.cos(a) for a in angles], dtype=torch.float64
    )


def attended(block: XLBlock, x: Tensor, content: list[Tensor], fixed: bool = False) -> Tensor:
    """One query's heads (16,): x (16,) is the state at the last of the positions of `content`;
    `fixed`: without positions, and the projections are constants.
    """
    attn, at = block.attn, block.attn.position
    project = [attn.q.weight, *attn.kv.weight.chunk(2)]
    if fixed:
        project = [weight.detach() for weight in project]
    heads = []
    for h in range(4):
        part = slice(4 * h, 4 * h + 4)
        q, scores, values = (project[0] @ x)[part], [], []
        for s, state in enumerate(content):
            k = (project[1] @ state)[part]
            values.append((project[2] @ state)[part])
            score = q @ k
            if not fixed:
                r = (at.W.weight @ waves(len(content) - 1 - s))[part]
                score = score + q @ r + at.u[h] @ k + at.v[h] @ r
            scores.append(score / 2)  # sqrt(d_head)
        weights = torch.stack(scores).softmax(0)
        heads.append(sum(w * v for w, v in zip(weights, values, strict=True)))
    return torch.cat(heads)


def compressed(part: Compression, group: list[Tensor]) -> Tensor:
    """One state of a group's: the convolution, the mean, or the maximum."""
    if part.convolution is None:
        stacked = torch.stack(group)
        return stacked.mean(0) if part.kind == "mean" else stacked.amax(0)
    weight = part.convolution.weight  # (out, in, ratio)
    return part.convolution.bias + sum(weight[:, :, i] @ group[i] for i in range(len(group)))


def by_loops(model: TransformerXLLM, text: list[int]) -> tuple[Tensor, list[Tensor], Memories]:
    """Logits (T, V), the losses in order, and the compressed states of each layer."""
    body = model.body
    assert isinstance(body, CompressiveTransformer)
    recent, old = [[[] for _ in body.stack.blocks] for _ in range(2)]
    logits, lost = [], []
    for start in range(0, len(text), 3):
        states = [4 * body.tokens.weight[token] for token in text[start : start + 3]]
        for i, block in enumerate(body.stack.blocks):
            before, after = [*old[i], *recent[i]], []
            for t, x in enumerate(states):
                mixed = block.attn.out.weight @ attended(block, x, before + states[: t + 1])
                y = normed(block.attn_residual.norm, x + mixed)
                inner = (block.ff.inner.weight @ y + block.ff.inner.bias).clamp(min=0)
                z = y + block.ff.out.weight @ inner + block.ff.out.bias
                after.append(normed(block.ff_residual.norm, z))
            recent[i] += [x.detach() for x in states]
            leaving = []
            while len(recent[i]) >= body.config.n_memory + body.config.ratio:
                leaving.append(recent[i][: body.config.ratio])
                recent[i] = recent[i][body.config.ratio :]
            if leaving:
                new = [compressed(body.compress[i], group) for group in leaving]
                lost.append(reconstruction(block, states, leaving, new))
                old[i] = [*old[i], *(x.detach() for x in new)][-body.config.n_compressed :]
            states = after
        logits += [body.tokens.weight @ x + model.head.bias for x in states]
    return torch.stack(logits), lost, old


def reconstruction(
    block: XLBlock, states: list[Tensor], leaving: list[list[Tensor]], new: list[Tensor]
) -> Tensor:
    """Algorithm 2: only the compressed states have a gradient."""
    every, squares = [x for group in leaving for x in group], []
    for x in states:
        there, here = (attended(block, x.detach(), m, fixed=True) for m in (every, new))
        squares.append((there - here).pow(2))
    return torch.cat(squares).mean()


def built(**changes: object) -> TransformerXLLM:
    torch.manual_seed(0)
    model = for_lm(CompressiveTransformer(compressive.TINY.but(**changes))).double()
    assert isinstance(perturb(model), TransformerXLLM)
    return model


@parity("compressive", CompressiveTransformer, Compression)
def compressive_agrees() -> None:
    for kind in ("convolution", "mean", "maximum"):
        model = built(compression=kind)
        memory, logits = model.begin(), []
        with collect_losses(model) as losses:
            for part in TEXT.split(3, 1):
                logits.append(model.step(part, memory)[0])
        expected, lost, old = by_loops(model, TEXT[0].tolist())
        output = torch.cat(logits)
        equal(output, expected)
        assert isinstance(memory, CompressiveMemory)
        for found, wanted in zip(memory.compressed, old, strict=True):
            equal(found[0], torch.stack(wanted))
        equal(torch.stack(list(losses)), torch.stack(lost))
        both = torch.cat((output.flatten(), losses.total().view(1)))
        other = torch.cat((expected.flatten(), sum(lost).view(1)))
        equal_gradients(both, other, {n: (p, p) for n, p in model.named_parameters()})


def of_states(
    self: CompressiveTransformer, layer: int, x: Tensor, old: Tensor, new: Tensor
) -> Tensor:
    """The loss between the states themselves."""
    return (new.repeat_interleave(self.config.ratio, 1) - old).pow(2).mean()


def drops(self: CompressiveMemory, layer: int, states: Tensor) -> None:
    self.compressed[layer : layer + 1] = [states.detach()[:, -self.n_compressed :]]


MUTATIONS: dict[str, tuple[str, object]] = {
    "a loss of states, not of attention": ("CompressiveTransformer.reconstruct", of_states),
    "older compressed states are dropped": ("CompressiveMemory.store", drops),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with (
        mock.patch(f"deepdive.models.efficient.compressive.{target}", wrong),
        pytest.raises(AssertionError),
    ):
        compressive_agrees()


def test_the_reconstruction_loss_trains_the_compression_only() -> None:
    model = built()
    memory = model.begin()
    with collect_losses(model) as losses:
        for part in TEXT.split(3, 1):
            model.step(part, memory)
    torch.autograd.backward([torch.as_tensor(losses.total())])
    trained = {name for name, p in model.named_parameters() if p.grad is not None}
    assert trained == {n for n, _ in model.named_parameters() if "compress" in n}


def test_without_a_listener_no_loss_is_computed_and_the_states_are_the_same() -> None:
    model = built()
    results = []
    for listen in (False, True):
        memory = model.begin()
        with collect_losses(model if listen else torch.nn.Identity()) as losses:
            results.append(torch.cat([model.step(part, memory) for part in TEXT.split(3, 1)], 1))
        assert bool(losses) is listen
    assert torch.equal(*results)

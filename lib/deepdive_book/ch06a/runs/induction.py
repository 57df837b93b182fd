"""Induction heads: heads that attend to the token after an earlier copy of the current token.

    score(head) = mean over i of weights[n + i, i + 1],  n random tokens, and the same n again

In the second half of such a text only the first half predicts the next token: a head that attends
to the token after the earlier copy finds it there.
Source: Olsson et al. 2022, "In-context Learning and Induction Heads", prefix matching.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor

from deepdive.core.hooks import ablate, record
from deepdive.models.generative.llama import Llama

WEIGHTS, HEADS = "*.attn.mechanism.weights", "decoder.stack.blocks.{}.attn.heads"
ORDINARY = (1000, 40_000)  # tokens that are neither control tokens nor rare
Head = tuple[int, int]  # layer and head, both from 0


def repeated(n: int, seed: int) -> list[int]:
    """n random tokens, and the same n again."""
    rng = random.Random(f"repeated {seed}")
    half = [rng.randrange(*ORDINARY) for _ in range(n)]
    return half + half


@torch.no_grad()
def weights(model: Llama, tokens: Sequence[int]) -> Tensor:
    """All attention weights of one text, (layers, heads, T, T)."""
    with record(model, WEIGHTS) as seen:
        model.decoder(torch.tensor([list(tokens)]))
    return torch.cat([one for [one] in seen.values()])


def scores(model: Llama, n: int = 32, seeds: Sequence[int] = range(4)) -> Tensor:
    """The score of each head, (layers, heads): mean over one text of 2 n tokens per seed."""
    found = []
    for seed in seeds:
        later = weights(model, repeated(n, seed))[:, :, n:, : n + 1]  # from the second half
        found.append(later.diagonal(1, -2, -1).mean(-1))
    return torch.stack(found).mean(0)


def best(found: Tensor, k: int) -> list[Head]:
    """The k heads of the highest scores, highest first."""
    places = found.flatten().topk(k).indices.tolist()
    return [divmod(place, found.shape[1]) for place in places]


def controls(heads: Sequence[Head], n_heads: int, seed: int) -> list[Head]:
    """Random other heads: as many in each layer as `heads` has there."""
    rng = random.Random(f"other heads {seed}")
    found = []
    for layer in sorted({layer for layer, _ in heads}):
        own = [h for at, h in heads if at == layer]
        rest = [h for h in range(n_heads) if h not in own]
        found += [(layer, h) for h in rng.sample(rest, min(len(own), len(rest)))]
    return found


@contextmanager
def ablated(model: Llama, heads: Sequence[Head]) -> Iterator[None]:
    """Set the outputs of these heads to zero."""
    with ExitStack() as stack:
        for layer in {layer for layer, _ in heads}:
            own = [h for at, h in heads if at == layer]
            stack.enter_context(ablate(model, HEADS.format(layer), own))
        yield


@torch.no_grad()
def copy_accuracy(model: Llama, n: int = 32, seeds: Sequence[int] = range(10, 14)) -> float:
    """Accuracy of the most probable next token in the second half of a repeated text."""
    correct = []
    for seed in seeds:
        tokens = repeated(n, seed)
        guesses = model(torch.tensor([tokens]))[0].argmax(-1)[n:-1]
        correct.append((guesses == torch.tensor(tokens[n + 1 :])).float().mean())
    return float(torch.stack(correct).mean())

"""One block applied again and again, with adaptive computation time (ACT): the stack of a Universal
Transformer. Its system is `deepdive.models.efficient.universal`.
"""

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepdive.attention.structure import structure
from deepdive.core import Block, Context, FeedForward, MultiHeadAttention, PostNorm, relu
from deepdive.core.checks import numbers, positive
from deepdive.core.hooks import HookPoint, LossPoint
from deepdive.core.masks import as_mask
from deepdive.core.position import query_positions
from deepdive.core.stack import Stack
from deepdive.positions import SinusoidalPosition


class Pondered(NamedTuple):
    """The states (B, T, d_model), and per position (B, T) the number of steps N(t) and the
    remainder R(t); `weights` (B, T, n_steps) are the halting weights, which sum to 1.

    Padding has weight 0 and no steps.
    """

    states: Tensor
    weights: Tensor
    steps: Tensor
    remainders: Tensor


class UniversalStack(Stack):
    """One block, applied up to `n_steps` times to all positions in parallel.

        x = block(x + P[position] + P[step])                                     # step = 1, 2, ...

    With `halting`, each position also has a halting probability p = sigmoid(halt(x + P + P)), and
    halts at the first step at which its sum reaches 1 - epsilon, or at the last one. That step's
    weight is the remainder, 1 - the sum of those before, so the weights sum to 1. From then on the
    position's state is copied, and other positions still attend to it.

    Hook points: `weights` (B, T, n_steps); `ponder`, a `LossPoint`: the mean of N(t) + R(t) over
    real positions, times `ponder_weight`. N(t) is a constant to the gradient.
    With a cache every step runs, because later tokens may take more steps than all earlier ones.
    Source: Dehghani et al. 2019, sections 2.1 and 2.2; Graves 2016, section 2.
    """

    def __init__(
        self,
        block: nn.Module,
        d_model: int,
        n_steps: int,
        halting: bool = True,
        epsilon: float = 0.01,
        ponder_weight: float = 0.01,
    ) -> None:
        positive(d_model=d_model, n_steps=n_steps)
        numbers(0.0, 1.0, epsilon=epsilon)
        super().__init__(lambda _layer: block, 1)
        self.n_steps, self.epsilon = n_steps, epsilon
        self.sinusoids = SinusoidalPosition(d_model)
        self.halt = nn.Linear(d_model, 1) if halting else None
        if self.halt is not None:
            nn.init.ones_(self.halt.bias)  # few steps at first, as in the authors' code
        self.ponder_weight, self.weights, self.ponder = ponder_weight, HookPoint(), LossPoint()

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the states (B, T, d_model) after all steps, or with halting their average."""
        if self.halt is not None:
            return self.pondered(x, context).states
        for step in range(self.n_steps):
            x = self.blocks[0](self.coded(x, context, step), context.for_layer(step))
        return x

    def coded(self, x: Tensor, context: Context, step: int) -> Tensor:
        """Return x + P[position] + P[step + 1], for steps counted from 0."""
        x = self.sinusoids.embed(x, query_positions(x, context.for_layer(step)))
        return x + self.sinusoids.table(torch.tensor(step + 1, device=x.device)).to(x.dtype)

    def pondered(self, x: Tensor, context: Context) -> Pondered:
        """Return the average state of each position, its halting weights, steps, and remainder.

        Raises ValueError for a stack without halting.
        """
        if self.halt is None:
            raise ValueError("the stack has no halting unit: build it with halting=True")
        running = real = real_positions(x, context)
        average, total = torch.zeros_like(x), x.new_zeros(x.shape[:2])
        steps, remainders, every = torch.zeros_like(total), torch.zeros_like(total), []
        for step in range(self.n_steps):
            coded = self.coded(x, context, step)
            p = torch.sigmoid(self.halt(coded)).squeeze(-1)  # (B, T)
            last = (total + p >= 1 - self.epsilon) | (step == self.n_steps - 1)
            weight = torch.where(last, 1 - total, p) * running
            after = self.blocks[0](coded, context.for_layer(step))
            x = torch.where(running.unsqueeze(-1), after, x)
            average = average + weight.unsqueeze(-1) * x
            total, steps = total + weight, steps + running
            remainders = remainders + weight * last
            every.append(weight)
            running = running & ~last
            if context.cache is None and not running.any():
                break
        weights = torch.stack(every, -1)
        weights = nn.functional.pad(weights, (0, self.n_steps - len(every)))
        if self.ponder.listening:
            cost = (steps + remainders).sum() / real.sum()
            self.ponder(self.ponder_weight * cost)
        return Pondered(average, self.weights(weights), steps, remainders)


def real_positions(x: Tensor, context: Context) -> Tensor:
    """Return bool (B, T): which positions of x no `Padding` of the context's mask hides."""
    real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    if context.cache is not None:  # its mask is of all keys so far, and no ponder cost is needed
        return real
    keys, _ = structure(as_mask(context.mask), x.unsqueeze(1))
    return real if keys is None else real & keys


def universal_block(
    d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0, cross: bool = False
) -> Block:
    """Return the block that every step applies: a post-norm layer."""
    memory = MultiHeadAttention(d_model, n_heads) if cross else None
    ff = FeedForward(d_model, d_ff, relu, dropout)
    attention = MultiHeadAttention(d_model, n_heads)
    return Block(attention, ff, memory, partial(PostNorm, dropout=dropout))

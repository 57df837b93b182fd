"""VECO's objective: MLM of each sentence twice, alone and with attention to its translation."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from torch import Tensor

from deepdive.training.objectives.token import cross_entropy


class VecoOutput(Protocol):
    """An encoder of a sentence alone, or with attention to the states of another."""

    def __call__(self, tokens: Tensor, mask: Tensor | None) -> Tensor: ...

    def beside(
        self, tokens: Tensor, mask: Tensor | None, other: Tensor, other_mask: Tensor | None
    ) -> Tensor: ...


class MaskedBatch(NamedTuple):
    """tokens (B, T) with masks; targets (B, T): the original token there, `pad` elsewhere; real:
    bool, True = not padding.
    """

    tokens: Tensor
    targets: Tensor
    real: Tensor | None = None


def plugged_loss(
    model: VecoOutput,
    score: Callable[[Tensor], Tensor],
    first: MaskedBatch,
    second: MaskedBatch,
    pad: int = 0,
) -> Tensor:
    """Return CA-MLM of sentences (x, y), each index b one pair: with masked x', y',

        loss = - log p(x | x') - log p(x | x', y') - log p(y | y') - log p(y | y', x')

    each the mean over its masked tokens. p(. | x') sees only x'; p(. | x', y') also attends, in
    every layer, to the last states of y', encoded alone. score: (B, T, d) -> logits (B, T, V).

    Without translations y is the sentence that follows x. Source: Luo et al. 2021.
    """
    x, y = (model(side.tokens, side.real) for side in (first, second))
    x_beside = model.beside(first.tokens, first.real, y, second.real)
    y_beside = model.beside(second.tokens, second.real, x, first.real)
    own = cross_entropy(score(x), first.targets, pad) + cross_entropy(score(y), second.targets, pad)
    return (
        own
        + cross_entropy(score(x_beside), first.targets, pad)
        + cross_entropy(score(y_beside), second.targets, pad)
    )

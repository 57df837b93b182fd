"""VECO: gaps of a sentence are filled twice, from itself alone and with its translation beside."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from torch import Tensor

from deepdive.training.objectives.token import cross_entropy


class VecoOutput(Protocol):
    """An encoder that reads a sentence alone, or beside the states of another."""

    def __call__(self, tokens: Tensor, mask: Tensor | None) -> Tensor: ...

    def beside(
        self, tokens: Tensor, mask: Tensor | None, other: Tensor, other_mask: Tensor | None
    ) -> Tensor: ...


class MaskedBatch(NamedTuple):
    """tokens (B, T) with gaps; targets (B, T): what stood there, `pad` elsewhere; real: bool,
    True = no padding.
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
    """Return CA-MLM of sentences (x, y), row b of both one pair: with gaps x', y',

        loss = - log p(x | x') - log p(x | x', y') - log p(y | y') - log p(y | y', x')

    each the mean over its gaps. p(. | x') reads x' alone; p(. | x', y') also looks, in every layer,
    at the last states of y', read alone. score: states (B, T, d) -> logits (B, T, V).

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

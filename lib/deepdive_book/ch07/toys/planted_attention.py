"""Planted classifiers with one attention, so that it is known what the head gives to the answer."""

import torch
from torch import Tensor

from deepdive.core.hooks import HookPoint
from deepdive_book.ch07.toys.planted import SIGNS, Planted, ids, signed


class Attending(Planted):
    """One head looks at one word; what it copies and what goes past it are set apart.

        weights = softmax_s(sharpness [x_s = looked])              # (B, 1, S, S), hook `weights`
        margin  = sum_s weights[0, s] copied [x_s = looked] + sum_s direct[x_s]

    `copying`: the answer is what the head copies. `decoy`: the head looks just as hard, at a word
    that gives nothing, and the answer goes past it. Both attend alike; their causes differ.
    """

    direct: Tensor

    def __init__(self, looked: str, copied: float, direct: dict[str, float]) -> None:
        super().__init__()
        self.looked, self.copied, self.sharpness = int(ids(looked)), copied, 6.0
        self.register_buffer("direct", signed(direct))
        self.weights = HookPoint()

    def read(self, x: Tensor) -> Tensor:
        looked = x[..., self.looked]  # (B, S)
        scores = (self.sharpness * looked)[:, None, None, :].expand(-1, 1, x.shape[1], -1)
        weights = self.weights(scores.softmax(-1))
        return (weights[:, 0, 0] * self.copied * looked).sum(-1) + (x @ self.direct).sum(-1)

    def shapley(self, tokens: Tensor) -> Tensor:
        """A blank has a score of 0, as all other words have: m looked-at words share alike what the
        head gives.
        """
        looked = (tokens == self.looked).double()
        m, big = looked.sum(), torch.tensor(self.sharpness).double().exp()
        given = self.copied * big / (m * big + len(tokens) - m)
        return looked * given + self.direct[tokens]


def copying(word: str = "great") -> Attending:
    """The head copies a planted word, and nothing else counts."""
    return Attending(word, 2.0, {})


def decoy(word: str = "film") -> Attending:
    """The head looks at a word that counts nothing; the signed words count, past it."""
    return Attending(word, 0.0, SIGNS)

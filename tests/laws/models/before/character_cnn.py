"""Cases of `deepdive.models.before.character_cnn`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.models.before.character_cnn import CharacterCNN, Highway
from deepdive.tokenizers.character import spell
from laws import Case, NotApplicable, case, random_rows

ALONE = NotApplicable("it looks at one word at a time; no mask, order or state enters")


LONE = {"padding": ALONE, "cache": ALONE, "hooks": ALONE}


@case("Highway", Highway)
def _() -> Case:
    def shut() -> tuple[Tensor, Tensor]:
        layer, x = Highway(16).double(), random_rows(2, 3, 16)
        nn.init.constant_(layer.G.bias, -800.0)
        return layer(x), x

    return Case(
        make=lambda: Highway(16),
        run=lambda layer, x, mask=None, state=None: layer(x),
        parity="the equation over torch.nn.Linear",
        limits={"a shut gate: the identity": shut},
        refusals={"rows of another width": lambda: Highway(16)(torch.zeros(2, 8))},
        laws=LONE,
    )


@case("CharacterCNN", CharacterCNN)
def _() -> Case:
    def make() -> CharacterCNN:
        return CharacterCNN(32, 16, {1: 4, 3: 6}, d_char=5)

    def run(layer: CharacterCNN, x: Tensor, mask: object = None, state: object = None) -> Tensor:
        return layer(torch.stack([x, (x + 3) % 28 + 4, (x * 5) % 28 + 4, x], dim=-1))

    def longer() -> tuple[Tensor, Tensor]:
        """One filter of one character, no highway: the largest of each number over the word."""
        layer = CharacterCNN(32, 4, {1: 4}, d_char=5, n_highway=0).double()
        chars = torch.tensor([[[4, 9, 5]]])
        weights = dict(layer.convolutions[0].named_parameters())
        W, b = weights["weight"][..., 0], weights["bias"]
        rows = torch.tanh(layer.embedding.weight[chars] @ W.T + b)
        return layer(chars), layer.P(rows.amax(-2))

    def padded() -> tuple[Tensor, Tensor]:
        layer = make().double()
        return layer(torch.tensor([[[4, 9, 5, 0, 0, 0]]])), layer(torch.tensor([[[4, 9, 5]]]))

    return Case(
        make=make,
        run=run,
        vocab=32,
        parity="torch.nn.Embedding, Conv1d and Linear, one word at a time",
        limits={"width 1, no highway: the largest over the letters": longer, "padding": padded},
        refusals={
            "an unknown character": lambda: make()(torch.tensor([[[40]]])),
            "words, not characters": lambda: make()(torch.tensor([[4]])),
            "no filters": lambda: CharacterCNN(32, 16, {}),
            "rows of different lengths": lambda: spell([["a"], ["a", "b"]], "ab"),
        },
        laws=LONE,
    )

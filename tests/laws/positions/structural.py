"""Cases of `deepdive.positions.structural`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.positions.structural import StructuralPosition, depths, tree_offsets
from laws import Case, Refuses, case, random_rows
from laws.positions.base import ORDERED

CHAIN = (0, 0, 1, 2, 3, 4, 5, 6)


@case("structural_position", StructuralPosition)
def _() -> Case:
    def a_chain() -> tuple[Tensor, Tensor]:
        """In a chain each word hangs on the one before: a place in the tree is one in the row."""
        scheme, heads = StructuralPosition(16, 4, 3).double(), torch.tensor(CHAIN)
        q, k, at = random_rows(2, 3, 8, 4), random_rows(2, 3, 8, 4, seed=6), torch.arange(8)
        plain = scheme.offsets.bias(q, k, at, at)
        assert torch.equal(depths(heads), at)
        return scheme.bias(q, k, heads, heads), plain

    def a_slide() -> tuple[Tensor, Tensor]:
        """Bush held a talk with Sharon, seen from "talk" (KAIST deck 3)."""
        heads = torch.tensor([1, 1, 3, 1, 5, 1])
        printed = torch.tensor([[1, 0, 2, 1, 2, 1], [-2, -1, -1, 0, 3, 2]])
        return torch.stack([depths(heads), tree_offsets(heads)[3]]).double(), printed.double()

    def make() -> nn.Module:
        from deepdive.attention import MultiHeadAttention

        return MultiHeadAttention(16, 4, position=StructuralPosition(16, 4, 3))

    def run(attention: Any, x: Tensor, mask: object = None, state: object = None) -> Tensor:
        heads = torch.tensor(CHAIN)[: x.shape[1]]
        rows = attention.position.embed(x, heads)
        return attention(rows, mask=mask, positions=heads, cache=state)

    def begin(_attention: Any) -> object:
        from deepdive.attention import Slot

        return Slot()

    return Case(
        make=make,
        run=run,
        begin=begin,
        parity="the rules, token by token",
        limits={"a chain: Shaw's offsets": a_chain, "the row of the slide": a_slide},
        refusals={
            "heads in a circle": lambda: depths(torch.tensor([1, 2, 0])),
            "a head outside": lambda: depths(torch.tensor([0, 3])),
            "heads that are floats": lambda: depths(torch.zeros(3)),
            "fewer queries than keys": lambda: StructuralPosition(16, 4, 3).bias(
                torch.zeros(1, 4, 1, 4), torch.zeros(1, 4, 2, 4), torch.zeros(1), torch.zeros(2)
            ),
        },
        laws={"order": ORDERED, "cache": Refuses("a tree is known when its sentence has ended")},
    )

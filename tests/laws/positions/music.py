"""Cases of `deepdive.positions.music`."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.positions.music import MusicPosition
from laws import Case, case, random_rows
from laws.positions.base import ORDERED, shifted


@case("music_relative", MusicPosition)
def _() -> Case:
    q, k, at = random_rows(2, 3, 5, 4), random_rows(2, 3, 7, 4, seed=6), torch.arange(7)

    def entry_by_entry() -> tuple[Tensor, Tensor]:
        scheme = MusicPosition(3, 4, 3).double()
        added = scheme.bias(q, k, at[2:], at)
        by_hand = torch.full((2, 3, 5, 7), float("-inf")).double()
        for t in range(5):
            for s in range(t + 3):
                vector = scheme.rows[:, 3 - min(t + 2 - s, 3)]
                by_hand[:, :, t, s] = (q[:, :, t] * vector).sum(-1) / 2
        return added.exp(), by_hand.exp()  # exp(-inf) = 0

    def gathered() -> tuple[Tensor, Tensor]:
        """The same places with a batch axis are gathered, not skewed."""
        scheme = MusicPosition(3, 4, 3).double()
        rows = at.expand(2, 7)
        skewed, picked = scheme.bias(q, k, at[2:], at), scheme.bias(q, k, rows[:, 2:], rows)
        return skewed.exp(), picked.exp()

    def moved() -> tuple[Tensor, Tensor]:
        before, after = shifted(lambda: MusicPosition(3, 4, 3))()
        return before.exp(), after.exp()

    return Case(
        place="position",
        make=lambda: MusicPosition(4, 4, 3),
        parity="the equation, entry by entry",
        limits={
            "a vector for each pair, by loops": entry_by_entry,
            "skewed: gathered": gathered,
            "shifted: the same": moved,
        },
        refusals={"a reach below 0": lambda: MusicPosition(4, 4, -1)},
        laws={"order": ORDERED},
    )

"""A trained row for each place, added to the embeddings."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepdive.checks import not_negative, positive
from deepdive.laws import Case, case, random_rows, set_weights
from deepdive.positions.base import BELOW, ORDERED, Position, outside
from deepdive.positions.sinusoidal import SinusoidalPosition


class LearnedPosition(Position):
    """A trained vector for each position, added to the embeddings: x + table[pos + offset].

    `offset` skips the rows that some checkpoints reserve (2 in BART and OPT).
    Raises ValueError for a position outside the table.

    System: learned_position
    Parent: sinusoidal
    What differs:
    - the rows are trained (`table`), not computed, and so end at `max_length`
    Time: O(d_model)
    Memory: O(d_model)
    Source: Gehring et al. 2017, section 3.1; Devlin et al. 2019, section 3.
    Book: 2.4.1.2
    Page: 02_transformer/08_positions#learned-places-and-their-end
    Checkpoints: none
    """

    def __init__(self, max_length: int, d_model: int, offset: int = 0) -> None:
        super().__init__()
        positive(max_length=max_length, d_model=d_model)
        not_negative(offset=offset)
        self.d_model, self.max_length, self.offset = d_model, max_length, offset
        self.table = nn.Embedding(max_length + offset, d_model)
        nn.init.normal_(self.table.weight, std=0.02)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return x + table[positions + offset]."""
        self.check_rows(x, positions, d_model=x.shape[-1])
        wrong = outside(positions, self.max_length)
        if wrong is not None:
            fix = (
                "shorten the sequence, build the model with a longer table, or use "
                "SinusoidalPosition, which has no limit"
            )
            raise ValueError(
                f"position {wrong} is outside the learned table of max_length={self.max_length}: "
                f"{BELOW if wrong < 0 else fix}"
            )
        return x + self.table(positions + self.offset)


@case(LearnedPosition)
def _() -> Case:
    def a_table_of_waves() -> tuple[Tensor, Tensor]:
        x, positions = random_rows(2, 5, 16), torch.arange(5)
        learned, waves = LearnedPosition(8, 16), SinusoidalPosition(16)
        set_weights(learned, table__weight=waves.table(torch.arange(8)))
        return learned.embed(x, positions), waves.embed(x, positions)

    return Case(
        place="position",
        make=lambda: LearnedPosition(8, 16),
        parity="transformers GPT2LMHeadModel, its wpe",
        limits={"a table of waves: SinusoidalPosition": a_table_of_waves},
        refusals={
            "beyond the table": lambda: LearnedPosition(8, 16).embed(
                torch.zeros(1, 9, 16), torch.arange(9)
            )
        },
        laws={"order": ORDERED},
    )

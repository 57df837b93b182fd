"""Learned position embeddings."""

from torch import Tensor, nn

from deepdive.core.checks import not_negative, positive
from deepdive.core.position import FIX_NEGATIVE, Position, outside


class LearnedPosition(Position):
    """A trained vector for each position, added to the embeddings: x + table[pos + offset].

    `offset` skips the rows that some checkpoints reserve (2 in BART and OPT).
    Raises ValueError for a position outside the table.

    System: learned_position
    Parent: sinusoidal
    What differs:
    - the embeddings are trained (`table`), not computed, and so end at `max_length`
    Source: Gehring et al. 2017, section 3.1; Devlin et al. 2019, section 3.
    Book: 2.4.1.2
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
        position = outside(positions, self.max_length)
        if position is not None:
            fix = (
                "shorten the sequence, build the model with a longer table, or use "
                "SinusoidalPosition, which has no limit"
            )
            rows = f" ({self.max_length + self.offset} rows, {self.offset} of them for padding)"
            raise ValueError(
                f"position {position} is outside the learned table of max_length={self.max_length}"
                f"{rows if self.offset else ''}: {FIX_NEGATIVE if position < 0 else fix}"
            )
        return x + self.table(positions + self.offset)

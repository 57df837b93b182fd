"""The input of TAPAS: a whole table as one text, seven rows of types on each token. Herzig et al.
2020, "TaPas: Weakly Supervised Table Parsing via Pre-training".

    rows = norm(tokens[t] + position[p] + segment[s_0] + column[s_1] + row[s_2] + ... + number[s_6])

The seven: question or table, column, row, whether the cell was the previous answer, rank of its
number in the column, the same from above, and how its number compares with the question's. A place
is counted anew in each cell.
"""

from typing import Any, Self

import torch
from torch import Tensor, nn

from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.embeddings import BertEmbeddings

TYPES = (3, 256, 256, 2, 256, 256, 10)  # rows of each table of types


class TapasEmbeddings(BertEmbeddings):
    """`BertEmbeddings` with a table for each kind of type, and places that begin in each cell."""

    sizes = TYPES
    types: nn.ModuleList

    @classmethod
    def of(cls, config: Any) -> Self:
        """Build them from the numbers of an `EncoderConfig`, which has no table of segments."""
        self = super().of(config.but(n_segments=0))
        self.types = nn.ModuleList(nn.Embedding(n, config.d_model) for n in cls.sizes)
        return self

    def forward(self, tokens: Tensor, segments: Tensor | None, positions: Tensor) -> Tensor:
        """Return rows (B, T, d_model) for tokens (B, T) and their types `segments` (B, T, 7).

        Raises ValueError for types of another shape.
        """
        if segments is None or segments.shape != (*tokens.shape, len(self.sizes)):
            came = "none" if segments is None else str(tuple(segments.shape))
            raise ValueError(
                f"segments: came as {came}, expected {(*tokens.shape, len(self.sizes))}: seven "
                "types a token"
            )
        rows = self.position.embed(
            self.tokens(tokens), restarted(segments[..., 1], segments[..., 2])
        )
        for table, kind in zip(self.types, segments.unbind(-1), strict=True):
            rows = rows + table(kind)
        return self.finish(self.embedded(self.norm(rows)))


def restarted(columns: Tensor, rows: Tensor) -> Tensor:
    """Return places (B, T) counted from the first token of each cell; column 0 and row 0, the
    question and the padding, are one cell.
    """
    cell = columns * (int(rows.max()) + 1) + rows
    same = cell[:, :, None] == cell[:, None, :]  # (B, T, T)
    at = torch.arange(cell.shape[1], device=cell.device)
    return at - same.long().argmax(-1)  # the first of its cell


BASE = EncoderConfig(embeddings=TapasEmbeddings, family="tapas")
TINY = BASE.but(**TOY)


def tapas(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build the encoder; its `segments` are the seven types (B, T, 7)."""
    return bert(config, **changes)

"""TAPAS: BERT over a flattened table, with seven token type embeddings. Herzig et al. 2020,
"TaPas: Weakly Supervised Table Parsing via Pre-training".

    x = norm(tokens[t] + position[p] + segment[s_0] + column[s_1] + row[s_2] + ... + number[s_6])

The others: whether the cell was the previous answer, its number's rank in the column, from above
and from below, and its relation to the question's number. Positions restart in each cell.
"""

from typing import Any, Self

import torch
from torch import Tensor, nn

from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.embeddings import BertEmbeddings

TYPES = (3, 256, 256, 2, 256, 256, 10)  # size of each token type embedding


class TapasEmbeddings(BertEmbeddings):
    """`BertEmbeddings` with seven token type embeddings, and positions that restart per cell."""

    sizes = TYPES
    types: nn.ModuleList

    @classmethod
    def of(cls, config: Any) -> Self:
        """Build the embeddings from an `EncoderConfig`, whose `n_segments` is ignored."""
        self = super().of(config.but(n_segments=0))
        self.types = nn.ModuleList(nn.Embedding(n, config.d_model) for n in cls.sizes)
        return self

    def forward(self, tokens: Tensor, segments: Tensor | None, positions: Tensor) -> Tensor:
        """Return embeddings (B, T, d_model) for tokens (B, T) and token types (B, T, 7)."""
        if segments is None or segments.shape != (*tokens.shape, len(self.sizes)):
            shape = "none" if segments is None else str(tuple(segments.shape))
            wanted = (*tokens.shape, len(self.sizes))
            raise ValueError(f"segments: got {shape}, expected {wanted}: seven types per token")
        places = restarted(segments[..., 1], segments[..., 2])
        x = self.position.embed(self.tokens(tokens), places)
        for table, kind in zip(self.types, segments.unbind(-1), strict=True):
            x = x + table(kind)
        return self.finish(self.embedded(self.norm(x)))


def restarted(columns: Tensor, rows: Tensor) -> Tensor:
    """Return positions (B, T) within each cell; the question counts as one cell, (0, 0)."""
    cell = columns * (int(rows.max()) + 1) + rows
    same = cell[:, :, None] == cell[:, None, :]  # (B, T, T)
    return torch.arange(cell.shape[1]).to(cell) - same.long().argmax(-1)  # first token of its cell


BASE = EncoderConfig(embeddings=TapasEmbeddings, family="tapas")
TINY = BASE.but(**TOY)


def tapas(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build the encoder; its `segments` are the seven token types (B, T, 7)."""
    return bert(config, **changes)

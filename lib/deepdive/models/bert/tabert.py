"""TaBERT: BERT reads a question with each row of a table, and attention down the columns joins the
rows. Yin et al. 2020, "TaBERT: Pretraining for Joint Understanding of Textual and Tabular Data".

Long because rows and columns are two axes of attention, each with its padding and its checks.

System: tabert
Parent: bert
What differs:
- of the table only what the question may mean is read: its K rows with the most n-grams in common,
  or one row made of the best cell of each column (`deepdive.data.table_text.content_snapshot`)
- a row is text, each cell its column's name, its type and its value, and the vector of a cell is
  the mean of its tokens' (`deepdive.data.table_text.linearised`, `pooled`)
- for each column, and each word of the question, attention over the rows (`vertical`); the mean
  over the rows is what the table says of it (`TaBert`)
- it learns to name hidden columns and to recover cells (`deepdive.training.objectives.tabert`)
Source: Yin et al. 2020, section 3.
Book: 3.3.1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.masks import Padding
from deepdive.core.stack import Stack
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert


@dataclass(frozen=True)
class TaBertConfig(EncoderConfig):
    """The numbers of an encoder, and of the layers of vertical attention above it."""

    MAY_BE_ZERO = (*EncoderConfig.MAY_BE_ZERO, "n_vertical")
    n_vertical: int = 3


BASE = TaBertConfig()
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY, n_vertical=1)


class TaBert(nn.Module):
    """Rows of a table as text (B, R, T) -> one vector for each slot, (B, N, d_model)."""

    def __init__(self, encoder: Bert, vertical: Stack) -> None:
        super().__init__()
        self.bert, self.vertical = encoder, vertical

    def forward(self, tokens: Tensor, slots: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the mean over the rows of what `cells` says, (B, N, d_model)."""
        rows = _rows(tokens, mask)  # (B, R)
        cells = self.cells(tokens, slots, mask) * rows[:, :, None, None]
        return cells.sum(1) / rows.sum(1)[:, None, None]

    def cells(self, tokens: Tensor, slots: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return a vector for each slot of each row, (B, R, N, d_model), that has seen all rows.

        slots: int, as tokens: which word of the question, or which column after these, a token
        belongs to; -1: none. Slot n is the same word or column in every row. `mask` bool, as
        tokens, True = real token; a row without any is padding.
        """
        if tokens.ndim != 3 or slots.shape != tokens.shape:
            raise ValueError(
                f"tokens and slots must be (B, R, T); got {tuple(tokens.shape)} and "
                f"{tuple(slots.shape)}: for one table give tokens[None], for "
                "one row of each tokens[:, None]"
            )
        B, R, _ = tokens.shape
        read = None if mask is None else mask | ~_rows(tokens, mask)[:, :, None]  # no empty text
        given = None if read is None else read.flatten(0, 1)
        states = self.bert(tokens.flatten(0, 1), given).unflatten(0, (B, R))
        x = pooled(states, slots)  # (B, R, N, d_model)
        across = x.transpose(1, 2).flatten(0, 1)  # (B N, R, d_model): one slot down the rows
        keys = _rows(tokens, mask).repeat_interleave(x.shape[2], 0)
        return self.vertical(across, mask=Padding(keys)).unflatten(0, (B, -1)).transpose(1, 2)


def _rows(tokens: Tensor, mask: Tensor | None) -> Tensor:
    """Return which rows of the tables are real, bool (B, R)."""
    return torch.ones_like(tokens[..., 0], dtype=torch.bool) if mask is None else mask.any(-1)


def pooled(states: Tensor, slots: Tensor) -> Tensor:
    """Return the mean of the states of each slot, (B, R, N, d), 0 for one without tokens."""
    n_slots = int(slots.max()) + 1
    belongs = (slots[..., None, :] == torch.arange(n_slots, device=slots.device)[:, None]).to(
        states
    )
    return belongs @ states / belongs.sum(-1, keepdim=True).clamp(min=1)


def tabert(config: TaBertConfig = BASE, **changes: Any) -> TaBert:
    """Build the encoder and the layers above it; defaults are the paper's base model."""
    config = TaBertConfig.given(config, changes)
    encoder = bert(config)  # its stack is drawn as BERT's, and so is the one above
    above = bert(config.but(n_layers=config.n_vertical)).stack
    return TaBert(encoder, above)

"""TaBERT: BERT reads a question with each row of a table, and attention down the columns joins the
rows. Yin et al. 2020, "TaBERT: Pretraining for Joint Understanding of Textual and Tabular Data".

Long because what is read of a table, and how it becomes text, stands beside the model itself.

System: tabert
Parent: bert
What differs:
- of the table only what the question may mean is read: its K rows with the most n-grams in common,
  or one row made of the best cell of each column (`content_snapshot`)
- a row is text, each cell its column's name, its type and its value, and the vector of a cell is
  the mean of its tokens' (`linearised`, `pooled`)
- for each column, and each word of the question, attention over the rows (`vertical`); the mean
  over the rows is what the table says of it (`TaBert`)
- it learns to name hidden columns and to recover cells (`deepdive.training.objectives.tabert`)
Source: Yin et al. 2020, section 3.
Book: 3.3.1
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.masks import Padding
from deepdive.core.stack import Stack
from deepdive.data.wikitables import Table
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.tokenizers.base import Tokenizer


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


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def overlap(question: str, text: str, longest: int = 3) -> float:
    """Return the share of the question's n-grams, n = 1 to `longest`, that are in the text too."""
    asked, there = (
        {tuple(found[i : i + n]) for n in range(1, longest + 1) for i in range(len(found) - n + 1)}
        for found in (words(question), words(text))
    )
    return len(asked & there) / max(1, len(asked))


def content_snapshot(table: Table, question: str, k: int = 3) -> Table:
    """Return the k rows nearest to the question, best first, ties in the order of the table; for
    k = 1 one new row, of the nearest cell of each column.

    Raises ValueError for k < 1, and for a table without rows.
    Source: Yin et al. 2020, section 3.1, "content snapshot".
    """
    if k < 1 or not table.rows:
        raise ValueError(f"k={k} of {len(table.rows)} rows: expected one at least of each")
    if k == 1:
        best = [
            max(column, key=lambda c: overlap(question, c))
            for column in zip(*table.rows, strict=True)
        ]
        return table._replace(rows=[best])
    nearest = sorted(table.rows, key=lambda row: -overlap(question, " ".join(row)))
    return table._replace(rows=nearest[:k])


def linearised(
    question: str, table: Table, tokenizer: Tokenizer, cell_tokens: int = 8
) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, slots and mask (1, R, T) of a question and each row of a table:

        [CLS] question [SEP] name | type | value [SEP] name | type | value [SEP] ...

    At most `cell_tokens` are kept of each value. Slots number the question's tokens, then the
    columns; separators have none.
    """
    cls, sep = tokenizer.id_of("[CLS]"), tokenizer.id_of("[SEP]")
    asked = tokenizer.encode(question)
    lines = []
    for row in table.rows:
        ids, slots = [cls, *asked, sep], [-1, *range(len(asked)), -1]
        for j, (name, kind, value) in enumerate(zip(table.columns, table.types, row, strict=True)):
            cell = tokenizer.encode(f"{name} | {kind} | ") + tokenizer.encode(value)[:cell_tokens]
            ids += [*cell, sep]
            slots += [*[len(asked) + j] * len(cell), -1]
        lines.append((ids, slots))
    T = max(len(ids) for ids, _ in lines)
    tokens = torch.tensor([ids + [tokenizer.pad] * (T - len(ids)) for ids, _ in lines])
    places = torch.tensor([slots + [-1] * (T - len(slots)) for _, slots in lines])
    mask = torch.arange(T) < torch.tensor([[len(ids)] for ids, _ in lines])
    return tokens[None], places[None], mask[None]

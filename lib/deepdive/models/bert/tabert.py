"""TaBERT: BERT over a question and each table row, with vertical attention across rows. Yin et al.
2020, "TaBERT: Pretraining for Joint Understanding of Textual and Tabular Data".

Long because rows and columns are two axes of attention, each with its padding and its checks.

System: tabert
Parent: bert
What differs:
- the input is a content snapshot (`deepdive.data.table_text.content_snapshot`): the K rows with the
  most n-grams in common with the question, or one synthetic row of the best cell per column
- a row is linearized, each cell as column name, type and value; a cell's vector is the mean of its
  tokens' (`deepdive.data.table_text.linearized`, `pooled`)
- vertical self-attention over the rows (`vertical`) for each column and each word of the question;
  the mean over the rows is its representation (`TaBert`)
- masked column prediction and cell value recovery (`deepdive.training.objectives.tabert`)
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
    """BERT's config with `n_vertical`, the number of vertical attention layers on top."""

    MAY_BE_ZERO = (*EncoderConfig.MAY_BE_ZERO, "n_vertical")
    n_vertical: int = 3


BASE = TaBertConfig()
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY, n_vertical=1)


class TaBert(nn.Module):
    """TaBERT: linearized table rows (B, R, T) -> one vector for each slot, (B, N, d_model)."""

    def __init__(self, encoder: Bert, vertical: Stack) -> None:
        super().__init__()
        self.bert, self.vertical = encoder, vertical

    def forward(self, tokens: Tensor, slots: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the mean over the rows of the output of `cells`, (B, N, d_model)."""
        rows = _rows(tokens, mask)  # (B, R)
        cells = self.cells(tokens, slots, mask) * rows[:, :, None, None]
        return cells.sum(1) / rows.sum(1)[:, None, None]

    def cells(self, tokens: Tensor, slots: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return a vector for each slot of each row, (B, R, N, d_model), after vertical attention.

        slots: int, shaped as tokens: the word of the question, or after these the column, a token
        belongs to; -1: none. Slot n is the same word or column in every row. `mask` bool, shaped
        as tokens, True = real token; a row without any is padding.
        """
        if tokens.ndim != 3 or slots.shape != tokens.shape:
            raise ValueError(
                f"tokens and slots must be (B, R, T); got {tuple(tokens.shape)} and "
                f"{tuple(slots.shape)}: for one table pass tokens[None], for "
                "one row per table tokens[:, None]"
            )
        B, R, _ = tokens.shape
        read = None if mask is None else mask | ~_rows(tokens, mask)[:, :, None]  # none all masked
        given = None if read is None else read.flatten(0, 1)
        states = self.bert(tokens.flatten(0, 1), given).unflatten(0, (B, R))
        x = pooled(states, slots)  # (B, R, N, d_model)
        across = x.transpose(1, 2).flatten(0, 1)  # (B N, R, d_model): one slot across the rows
        keys = _rows(tokens, mask).repeat_interleave(x.shape[2], 0)
        return self.vertical(across, mask=Padding(keys)).unflatten(0, (B, -1)).transpose(1, 2)


def _rows(tokens: Tensor, mask: Tensor | None) -> Tensor:
    """Return which table rows are real, not padding, bool (B, R)."""
    return torch.ones_like(tokens[..., 0], dtype=torch.bool) if mask is None else mask.any(-1)


def pooled(states: Tensor, slots: Tensor) -> Tensor:
    """Return the mean hidden state of each slot, (B, R, N, d), 0 for a slot without tokens."""
    n_slots = int(slots.max()) + 1
    belongs = (slots[..., None, :] == torch.arange(n_slots, device=slots.device)[:, None]).to(
        states
    )
    return belongs @ states / belongs.sum(-1, keepdim=True).clamp(min=1)


def tabert(config: TaBertConfig = BASE, **changes: Any) -> TaBert:
    """Build the encoder and its vertical layers; defaults are the paper's base model."""
    config = TaBertConfig.given(config, changes)
    encoder = bert(config)  # both stacks are initialized like BERT's
    above = bert(config.but(n_layers=config.n_vertical)).stack
    return TaBert(encoder, above)

"""Cell selection with a small TaBERT: trained upper layers on a frozen encoder choose the cell of
a content snapshot that answers the question.

    rows = read(encoder, tokenizer, question, snapshot)  # (R, 1 + C, d + 5), once
    model = CellPicker(rows.shape[-1], down=True)
    scores = model(rows[None], real[None])  # (1, R, C)

After Yin et al. 2020, who train all layers, and pretrain on 26 million tables.

Long because it holds both the frozen features of a snapshot and the layers trained on them.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from deepdive.core.checks import not_negative, positive
from deepdive.core.masks import Padding
from deepdive.data.table_text import linearized, overlap
from deepdive.data.wikitables import Table
from deepdive.models.bert.tabert import pooled, tabert
from deepdive.tokenizers.base import Tokenizer

MATCHES = 5  # features per cell from `matches`


def matches(question: str, snapshot: Table) -> Tensor:
    """Return n-gram overlap features of each cell, (R, 1 + C, 5), zeros for the question (slot 0).

    The fraction of the row's, the column name's, and the cell's n-grams in common with the
    question; whether the cell has any in common; whether its column holds numbers.
    """
    matches = torch.zeros(len(snapshot.rows), 1 + len(snapshot.columns), MATCHES)
    names = [overlap(question, name) for name in snapshot.columns]
    for r, row in enumerate(snapshot.rows):
        whole = overlap(question, " ".join(row))
        for c, cell in enumerate(row):
            own = overlap(question, cell)
            number = float(snapshot.types[c] == "real")
            matches[r, 1 + c] = torch.tensor([whole, names[c], own, float(own > 0), number])
    return matches


@torch.no_grad()
def read(encoder: nn.Module, tokenizer: Tokenizer, question: str, snapshot: Table) -> Tensor:
    """Return frozen encoder states and overlap features of a snapshot, (R, 1 + C, d + 5).

    Slot 0 of a row is the mean of the question's hidden states, encoded with this row, and slot
    1 + c that of the cell of column c, its name and type included.
    """
    tokens, slots, mask = (x[0] for x in linearized(question, snapshot, tokenizer))  # (R, T)
    n_question = len(tokenizer.encode(question))
    merged = torch.where(slots < 0, slots, (slots - n_question + 1).clamp(min=0))
    return torch.cat([pooled(encoder(tokens, mask), merged), matches(question, snapshot)], -1)


def batched(read: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the features of several snapshots padded to (B, R, N, d), and a mask (B, R, N)."""
    R, N = (max(x.shape[axis] for x in read) for axis in (0, 1))
    rows = torch.zeros(len(read), R, N, read[0].shape[-1])
    real = torch.zeros(rows.shape[:-1], dtype=torch.bool)
    for i, x in enumerate(read):
        rows[i, : x.shape[0], : x.shape[1]] = x
        real[i, : x.shape[0], : x.shape[1]] = True
    return rows, real


class CellPicker(nn.Module):
    """Cell scorer: attention layers along each row, then down the columns, then question . cell.

    down    False: the upper layers also attend along the rows; same number of parameters
    n_along, n_down    numbers of layers; with 0 and 0 the frozen vectors are only projected
    """

    def __init__(
        self, d_in: int, *, down: bool = True, d_model: int = 64, n_along: int = 1, n_down: int = 1,
        dropout: float = 0.2,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(d_in=d_in, d_model=d_model)
        not_negative(n_along=n_along, n_down=n_down)
        upper = tabert(
            vocab_size=2, d_model=d_model, n_heads=4, d_ff=2 * d_model, dropout=dropout,
            n_layers=n_along, n_vertical=n_down,
        )  # fmt: skip
        self.enter, self.drop = nn.Linear(d_in, d_model), nn.Dropout(dropout)
        self.along, self.above = upper.bert.stack, upper.vertical
        self.ask, self.alone, self.down = nn.Linear(d_model, d_model), nn.Linear(d_model, 1), down

    def forward(self, rows: Tensor, real: Tensor) -> Tensor:
        """Return cell scores (B, R, C), -inf for padding.

        rows (B, R, 1 + C, d_in), slot 0 the question; real bool (B, R, 1 + C).
        """
        B, R, N, _ = rows.shape
        x = self.drop(self.enter(rows))
        seen = real | ~real.any(-1, keepdim=True)  # a padding row attends to itself
        x = self.along(x.flatten(0, 1), mask=Padding(seen.flatten(0, 1))).unflatten(0, (B, R))
        if self.down:
            some = real.transpose(1, 2).flatten(0, 1)  # (B N, R)
            some = some | ~some.any(-1, keepdim=True)
            x = self.above(x.transpose(1, 2).flatten(0, 1), mask=Padding(some))
            x = x.unflatten(0, (B, N)).transpose(1, 2)
        else:
            x = self.above(x.flatten(0, 1), mask=Padding(seen.flatten(0, 1))).unflatten(0, (B, R))
        question, cells = self.ask(x[:, :, :1]), x[:, :, 1:]
        scores = (question * cells).sum(-1) / x.shape[-1] ** 0.5 + self.alone(cells)[..., 0]
        return scores.masked_fill(~real[:, :, 1:], -torch.inf)

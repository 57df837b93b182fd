"""Parts of Informer: what makes rows of numbers, and what halves them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.checks import positive
from deepdive.laws import Case, Fails, NotApplicable, Refuses, case, random_rows, set_weights
from deepdive.layers import LayerNorm
from deepdive.positions import BlockedSinusoidalPosition

FIXED = "a series has no padding: its rows are steps of time, and distilling would mix them"

WHOLE = NotApplicable("it reads a whole series at once, and another number of rows comes out")
NO_MASK = NotApplicable(FIXED)
SILENT = {"convolution.bias": "batch norm takes the mean of a batch away, and the bias with it"}


class RowEmbedding(nn.Module):
    """norm(values(x) + position), (B, T, d_model) for features x (B, T, n_features)."""

    def __init__(self, n_features: int, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        positive(n_features=n_features, d_model=d_model)
        self.n_features = n_features
        self.values = nn.Linear(n_features, d_model, bias=False)
        self.position = BlockedSinusoidalPosition(d_model)
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Return the rows of steps start, start + 1, ..."""
        if x.ndim != 3 or x.shape[-1] != self.n_features or 0 in x.shape:
            raise ValueError(
                f"x must be (B, T, {self.n_features}) features, not empty; got {tuple(x.shape)}"
            )
        steps = torch.arange(start, start + x.shape[1], device=x.device)
        return self.dropout(self.norm(self.position.embed(self.values(x), steps)))


class Distil(nn.Module):
    """Half the rows: max_pool(elu(batch_norm(convolution(x)))), (B, ceil(T / 2), d_model).

    The convolution is three rows wide and its ends are joined; pooling takes the largest of three
    rows at every second place.
    Source: Zhou et al. 2021, self-attention distilling; batch norm as in the released code.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.convolution = nn.Conv1d(d_model, d_model, 3, padding=1, padding_mode="circular")
        self.norm = nn.BatchNorm1d(d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return the shorter rows."""
        mixed = F.elu(self.norm(self.convolution(x.transpose(1, 2))))
        return F.max_pool1d(mixed, 3, stride=2, padding=1).transpose(1, 2)


@case(RowEmbedding)
def _() -> Case:
    def far() -> tuple[Tensor, Tensor]:
        embedding, x = RowEmbedding(16, 16).double(), random_rows(2, 5, 16)
        late = torch.cat([torch.zeros(2, 3, 16).double(), x], dim=1)
        return embedding(x, 3), embedding(late)[:, 3:]

    return Case(
        make=lambda: RowEmbedding(16, 16),
        run=lambda module, x, mask, state: module(x),
        parity="transformers InformerModel, its encoder",
        limits={"a row that starts later: the end of a longer one": far},
        refusals={"other features": lambda: RowEmbedding(3, 16)(torch.zeros(1, 2, 4))},
        laws={
            "padding": NotApplicable("each row is embedded alone"),
            "order": Fails("a row's place is added to it"),
            "cache": NotApplicable("nothing is kept: `start` says where the rows stand"),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )


@case(Distil)
def _() -> Case:
    def constant() -> tuple[Tensor, Tensor]:
        """A series that never changes stays what it is, at half the length."""
        distil = Distil(16).eval()
        set_weights(distil, convolution__weight=0.0, convolution__bias=0.5)
        distil.norm.eps = 0.0
        return distil(random_rows(2, 7, 16)), torch.full((2, 4, 16), 0.5).double()

    return Case(
        make=lambda: Distil(16),
        run=lambda module, x, mask, state: module(x),
        parity="transformers InformerModel, its encoder",
        limits={"no convolution: its bias, at half the length": constant},
        silent=SILENT,
        laws={
            **dict.fromkeys(("no_leak", "padding", "order", "cache"), WHOLE),
            "refusal": NotApplicable("it maps any rows; a wrong width is torch's own clear error"),
            "hooks": Refuses("no attention: record says that there are no weights"),
        },
    )

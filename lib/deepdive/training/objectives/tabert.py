"""TaBERT's objectives: masked column prediction, and cell value recovery."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.training.objectives.token import cross_entropy


def choose_columns(
    columns: Tensor, rate: float = 0.2, *, generator: torch.Generator | None = None
) -> Tensor:
    """Return which columns are masked, bool as `columns` (B, C), True = a real column: each with
    probability `rate`, and at least one of every table.

    Source: Yin et al. 2020, section 3.2.
    """
    if columns.dtype != torch.bool or not columns.any(-1).all():
        raise ValueError(
            f"columns: got {columns.dtype} of shape {tuple(columns.shape)}, expected bool "
            "(B, C), True = a real column, one or more per table"
        )
    drawn = torch.rand(columns.shape, generator=generator).to(columns.device)
    drawn = drawn.masked_fill(~columns, 2.0)
    return (drawn < rate) | (drawn == drawn.amin(-1, keepdim=True))


def column_loss(logits: Tensor, names: Tensor, pad: int = 0) -> Tensor:
    """Return the masked column prediction loss: multi-label classification of the words in the
    name and type of a masked column.

        loss = mean over columns of sum over v of -log(p_v if v in names else 1 - p_v), p = sigmoid

    logits (N, V), of the vectors of masked columns; names int (N, L), padded with `pad`.
    Source: Yin et al. 2020, section 3.2, "masked column prediction".
    """
    if logits.ndim != 2 or names.ndim != 2 or len(logits) != len(names):
        raise ValueError(
            f"logits (N, V) and names (N, L) must agree; got {tuple(logits.shape)} and "
            f"{tuple(names.shape)}: select the masked columns in both"
        )
    present = torch.zeros_like(logits).scatter(1, names, 1.0)
    present[:, pad] = 0.0
    loss = F.binary_cross_entropy_with_logits(logits, present, reduction="none")
    return loss.sum(1).mean()


def cell_loss(logits: Tensor, values: Tensor, pad: int = 0) -> Tensor:
    """Return the cell value recovery loss: the mean cross-entropy of the tokens of masked cells.

    logits (N, L, V), from the vector of a cell and the position 0 .. L - 1 of each token; values
    int (N, L), padded with `pad`.
    Source: Yin et al. 2020, section 3.2, "cell value recovery", after Joshi et al. 2020.
    """
    return cross_entropy(logits, values, pad=pad)

"""Fewer rows for a deep stack, and as many as before again: CANINE's down- and up-sampling."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import LayerNorm
from deepdive.core.checks import positive
from deepdive.core.feed_forward import Activation
from deepdive.layers.subsample import mask_padding


class Downsample(nn.Module):
    """Rows (B, T, d_model) -> (B, T // rate, d_model): `rate` neighbours become one row.

        few[0] = norm(rows[0]),  few[i] = norm(activation(conv(rows[rate * (i - 1) : rate * i])))

    The first row, [CLS]'s, is kept beside, and takes the place of the last group's. Row i counts as
    real where one of rows[rate * i : rate * (i + 1)] is: as released, one group too late.
    Raises ValueError for fewer than `rate` rows.
    Source: Clark et al. 2022, section 3.2, and their released code.
    """

    def __init__(self, rate: int, d_model: int, activation: Activation, eps: float) -> None:
        super().__init__()
        positive(rate=rate, d_model=d_model)
        self.rate, self.activation = rate, activation
        self.conv = nn.Conv1d(d_model, d_model, rate, stride=rate)
        self.norm = LayerNorm(d_model, eps)

    def forward(self, rows: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the few rows, and which of them are real; `mask` bool (B, T), None = all."""
        T, rate = rows.shape[1], self.rate
        if rate > T:
            raise ValueError(
                f"a text of {T} characters is shorter than rate={rate}, the characters of one row: "
                "fill it with padding, and give the mask"
            )
        rows = mask_padding(rows, mask)
        groups = self.activation(self.conv(rows.mT)).mT  # (B, T // rate, d_model)
        few = self.norm(torch.cat((rows[:, :1], groups[:, :-1]), dim=1))
        if mask is None:
            return few, None
        return few, mask[:, : T // rate * rate].unflatten(1, (-1, rate)).any(-1)


class Upsample(nn.Module):
    """Rows (B, T, d_model) and few rows (B, T // rate, d_model) -> (B, T, d_model).

        both[s] = [rows[s], few[1 + s // rate]]
        rows'[t] = dropout(norm(activation(conv(both)[t])))

    conv reads `kernel` rows, (kernel - 1) // 2 of them before t. Those at the end, for which no row
    is left, read the last one.
    Source: Clark et al. 2022, section 3.3, and their released code.
    """

    def __init__(
        self, kernel: int, d_model: int, activation: Activation, eps: float, dropout: float = 0.0
    ) -> None:
        super().__init__()
        positive(kernel=kernel, d_model=d_model)
        self.kernel, self.activation = kernel, activation
        self.conv = nn.Conv1d(2 * d_model, d_model, kernel)
        self.norm, self.dropout = LayerNorm(d_model, eps), nn.Dropout(dropout)

    def forward(self, rows: Tensor, few: Tensor, rate: int, mask: Tensor | None = None) -> Tensor:
        """Return a row for each of `rows`; `mask` bool (B, T), None = all are real."""
        of_its_group = torch.arange(rows.shape[1], device=rows.device) // rate + 1
        both = torch.cat((rows, few[:, of_its_group.clamp(max=few.shape[1] - 1)]), dim=-1)
        before = (self.kernel - 1) // 2
        padded = F.pad(mask_padding(both, mask), (0, 0, before, self.kernel - 1 - before))
        return self.dropout(self.norm(self.activation(self.conv(padded.mT).mT)))

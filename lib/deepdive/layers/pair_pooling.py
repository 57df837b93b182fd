"""Funnel's pooling of pairs of states, and the upsampling that undoes it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class PairPooling:
    """Pooling of pairs: T states become about T / 2.

        pooled[i] = mean of x[2 i] and x[2 i + 1]             # `separate_cls` False
        pooled    = x[0], then the pairs of x[1 : -1]         # True, `truncate` True
        pooled    = x[0], then the pairs of x[1 :]            # True, `truncate` False

    With `separate_cls` the first state, [CLS]'s, has no partner; `truncate` then drops the last
    one, so that powers of 2 stay powers of 2. A last state without a partner stays as it is.
    Source: Dai et al. 2020, section 2.2, and their released code.
    """

    separate_cls: bool = True
    truncate: bool = True

    def pools(self, length: int) -> bool:
        """Return whether a sequence of this length is pooled: one pair is not enough for [CLS]."""
        return length > (2 if self.separate_cls else 1)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return [CLS] (B, 0 or 1, ...) and the states that are pooled, of x (B, T, ...)."""
        if not self.separate_cls:
            return x[:, :0], x
        return x[:, :1], x[:, 1:-1] if self.truncate else x[:, 1:]

    def first(self, x: Tensor) -> Tensor:
        """Return the first of each pair: of positions (1, T), of segments (B, T)."""
        cls, rest = self.split(x)
        return torch.cat((cls, rest[:, ::2]), 1)

    def mean(self, x: Tensor, real: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the means of x (B, T, d_model), and which are real: those of a pair of which at
        least one state is `real`, bool (B, T), None = all. Padding does not count in a mean.
        """
        cls, rest = self.split(x)
        if real is None:
            pairs = rest[:, : rest.shape[1] // 2 * 2].unflatten(1, (-1, 2)).mean(2)
            return torch.cat((cls, pairs, rest[:, pairs.shape[1] * 2 :]), 1), None
        cls_real, counts = self.split(real)
        odd = rest.shape[1] % 2
        rest = F.pad(rest * counts.unsqueeze(-1), (0, 0, 0, odd)).unflatten(1, (-1, 2))
        number = F.pad(counts.long(), (0, odd)).unflatten(1, (-1, 2)).sum(2)  # (B, pairs)
        means = rest.sum(2) / number.clamp(min=1).unsqueeze(-1)
        return torch.cat((cls, means), 1), torch.cat((cls_real, number > 0), 1)

    def repeat(self, pooled: Tensor, times: int, length: int) -> Tensor:
        """Return (B, length, d_model): each pooled state `times` times, [CLS]'s once; 0 where
        truncation dropped a state.
        """
        if times == 1:
            return pooled
        cls = int(self.separate_cls)
        rest = pooled[:, cls:].repeat_interleave(times, 1)[:, : length - cls]
        missing = length - cls - rest.shape[1]
        return torch.cat((pooled[:, :cls], F.pad(rest, (0, 0, 0, missing))), 1)

"""Multi-Scale attention: each head sees as far as its own scale, and no further."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from deepdive.attention.by_position.window import WindowAttention
from deepdive.attention.mechanism import Mechanism
from deepdive.attention.softmax import SoftmaxAttention, mechanism_case
from deepdive.checks import each_at_least
from deepdive.laws import Case, Fails, case, random_rows
from deepdive.masks import Causal, Mask, Padding, Window


class MultiScaleAttention(Mechanism):
    """Softmax attention in which head h attends to the keys at most `reaches[h]` places away.

        keys of query t in head h = t - reaches[h] ... t + reaches[h];  None: all keys

    Heads of one reach run together, as one `WindowAttention`, so the cost of a head is that of its
    window; those of reach None run as `SoftmaxAttention`. The paper chooses small reaches for the
    lower layers, and large ones, up to everything, as layers rise.

    Honours `Causal` and `Padding`. Hook points: `scales.i.scores`, `scales.i.weights`, one pair
    for each distinct reach, in the order in which they first stand in `reaches`.
    Raises ValueError for negative reaches, other heads, another mask, or a bias.

    System: multi_scale
    Parent: multi_head
    What differs:
    - each head has a window of its own (`reaches`); a layer mixes near and far
    - heads of one window are one banded product (`scales`), no score outside a window is made
    Time: O(d_head (sum of windows))
    Memory: O(sum of windows)
    Source: Guo et al. 2020, "Multi-Scale Self-Attention for Text Classification".
    Book: table 1.2
    Page: 05_efficient/07_priors#a-scale-for-each-head-the-multi-scale-transformer-card
    Checkpoints: none
    Example: MultiScaleAttention((1, 1, 3, None))
    """

    honours = (Causal, Padding)
    takes_bias = False

    def __init__(self, reaches: Sequence[int | None], *, dropout: float = 0.0) -> None:
        super().__init__()
        self.reaches = tuple(reaches)
        each_at_least(0, "reaches", self.reaches)
        self.n_heads = len(self.reaches)
        distinct = list(dict.fromkeys(self.reaches))
        self.groups = [
            [head for head, own in enumerate(self.reaches) if own == reach] for reach in distinct
        ]
        self.scales = nn.ModuleList(
            SoftmaxAttention(dropout)
            if reach is None
            else WindowAttention(reach, reach, dropout=dropout)
            for reach in distinct
        )

    def extra_repr(self) -> str:
        return f"reaches={self.reaches}"

    def compute(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Mask | None,
        bias: Tensor | None,
        scale: float,
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v); queries are the last T positions."""
        mixed = [
            attend(q[:, heads], k[:, heads], v[:, heads], mask, scale=scale)
            for attend, heads in zip(self.scales, self.groups, strict=True)
        ]
        order = torch.tensor([head for heads in self.groups for head in heads], device=q.device)
        return torch.cat(mixed, dim=1)[:, order.argsort()]


@case(MultiScaleAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 4, 23, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 23).bool()
    real[1, 5:11] = False  # longer than a window: some rows have no key
    reaches = (1, None, 4, 1)

    def its_masks() -> tuple[Tensor, Tensor]:
        ours = [MultiScaleAttention(reaches)(q, k, v, m) for m in (Padding(real), Causal())]
        wide = [Window(23 if reach is None else reach, reach or 23) for reach in reaches]
        own = torch.cat([window.dense(23) for window in wide], dim=1)  # (1, H, 23, 23)
        masks = (Padding(real).dense(23) & own, Causal().dense(23) & own)
        return torch.cat(ours), torch.cat([SoftmaxAttention()(q, k, v, m) for m in masks])

    def no_window() -> tuple[Tensor, Tensor]:
        return MultiScaleAttention([None] * 4)(q, k, v), SoftmaxAttention()(q, k, v)

    return mechanism_case(
        lambda: MultiScaleAttention((1, None, 2, 1)),
        parity="the equations of Guo et al. 2020, row by row",
        limits={"a mask for each head": its_masks, "no window: SoftmaxAttention": no_window},
        refusals={"a negative reach": lambda: MultiScaleAttention((1, -2))},
        laws={"order": Fails("who is near depends on the order")},
    )

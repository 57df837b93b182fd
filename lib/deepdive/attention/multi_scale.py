"""Multi-Scale attention: each head sees as far as its own scale, and no further."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from deepdive.attention.softmax import SoftmaxAttention, check_attention_inputs, mechanism_case
from deepdive.attention.structure import read_mask, refuse_bias
from deepdive.attention.window import WindowAttention
from deepdive.laws import Case, Fails, case, random_rows
from deepdive.masks import Causal, Mask, Padding, Window


class MultiScaleAttention(nn.Module):
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

    def __init__(self, reaches: Sequence[int | None], *, dropout: float = 0.0) -> None:
        super().__init__()
        self.reaches = tuple(reaches)
        if not self.reaches or any(reach is not None and reach < 0 for reach in self.reaches):
            raise ValueError(
                f"reaches={self.reaches}: one for each head, each a number >= 0, or None for all"
            )
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

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Mask | Tensor | None = None,
        bias: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v) for q (B, H, T, d), k and v of S rows; queries are
        the last T positions.
        """
        check_attention_inputs(q, k, v, bias)
        refuse_bias(bias, "MultiScaleAttention")
        read_mask(mask, k, "MultiScaleAttention")
        if q.shape[1] != len(self.reaches):
            raise ValueError(
                f"q has {q.shape[1]} heads, but there are {len(self.reaches)} reaches: give one "
                "for each head"
            )
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

    zeros = [torch.zeros(1, 2, 3, 4)] * 3
    plain = mechanism_case(
        lambda: MultiScaleAttention((1, None, 2, 1)),
        parity="the equations of Guo et al. 2020, row by row",
        limits={"a mask for each head": its_masks, "no window: SoftmaxAttention": no_window},
        laws={"order": Fails("who is near depends on the order")},
    )
    return replace(
        plain,
        refusals={
            "a bias": lambda: MultiScaleAttention((1, 2))(*zeros, bias=torch.zeros(3, 3)),
            "another mask": lambda: MultiScaleAttention((None, 2))(*zeros, mask=Window(2)),
            "other heads": lambda: MultiScaleAttention((1, 2, 3))(*zeros),
            "a negative reach": lambda: MultiScaleAttention((1, -2)),
        },
    )

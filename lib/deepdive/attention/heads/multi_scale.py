"""Multi-scale self-attention: a window of another width for each head."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from deepdive.attention.by_position.window import WindowAttention
from deepdive.core.checks import each_at_least
from deepdive.core.masks import Causal, Mask, Padding
from deepdive.core.mechanism import Mechanism
from deepdive.core.softmax import SoftmaxAttention


class MultiScaleAttention(Mechanism):
    """Softmax attention in which head h attends to keys at most `reaches[h]` positions away.

        keys of query t in head h = t - reaches[h] ... t + reaches[h];  None: all keys

    Heads of one reach run together, as one `WindowAttention`, so the cost of a head is that of its
    window; those of reach None run as `SoftmaxAttention`. The paper uses small reaches in the lower
    layers, and larger ones, up to all keys, in higher layers.

    Honours `Causal` and `Padding`. Hook points: `scales.i.scores`, `scales.i.weights`, one pair
    for each distinct reach, in the order in which they first occur in `reaches`.
    Raises ValueError for negative reaches, other heads, another mask, or a bias.

    System: multi_scale
    Parent: multi_head
    What differs:
    - each head has its own window (`reaches`); a layer mixes near and far
    - heads of one window are one banded product (`scales`), no score outside a window is computed
    Source: Guo et al. 2020, "Multi-Scale Self-Attention for Text Classification".
    Book: table 1.2
    """

    honors = (Causal, Padding)
    takes_bias = False

    def __init__(self, reaches: Sequence[int | None], *, dropout: float = 0.0) -> None:
        super().__init__()
        self.reaches = tuple(reaches)
        each_at_least(0, "reaches", self.reaches)
        self.n_heads = len(self.reaches)
        distinct = list(dict.fromkeys(self.reaches))
        self.groups = [
            [head for head, r in enumerate(self.reaches) if r == reach] for reach in distinct
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
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: Tensor | None, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d_v); queries are the last T positions."""
        mixed = [
            attend(q[:, heads], k[:, heads], v[:, heads], mask, scale=scale)
            for attend, heads in zip(self.scales, self.groups, strict=True)
        ]
        order = torch.tensor([head for heads in self.groups for head in heads], device=q.device)
        return torch.cat(mixed, dim=1)[:, order.argsort()]

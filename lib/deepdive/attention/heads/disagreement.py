"""Disagreement regularization of heads: on subspaces, attended positions, and outputs."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

from deepdive.core.hooks import LossPoint
from deepdive.core.masks import Mask, Padding
from deepdive.core.softmax import SoftmaxAttention, biased


class DisagreeingAttention(SoftmaxAttention):
    """Softmax attention with an auxiliary loss that is large where heads agree.

        agreement(X) = 1 / H^2 sum_{i,j} cos(X[i], X[j])              # mean over the rows of X
        overlap(A)   = 1 / H^2 sum_{i,j} sum_s A[i, t, s] A[j, t, s]   # mean over the queries t
        loss = subspace agreement(v) + position overlap(weights) + output agreement(output)

    The three numbers weigh the paper's disagreements on subspaces, attended positions and outputs;
    it maximizes likelihood + disagreement, `fit` minimizes loss - disagreement, the same. The
    paper writes the terms for one sentence; here each is a mean over real tokens, so that length
    and padding do not change its weight. The loss passes through `agreement` (`collect_losses`)
    and is only computed while it is collected: otherwise this is `SoftmaxAttention`.

    `Padding` decides which tokens are real: keys by the mask, and queries too where there are as
    many of them as keys (self-attention); otherwise all queries count.

    System: disagreement
    Parent: multi_head
    What differs:
    - an auxiliary loss: how much heads agree in their values, maps and outputs (`agreement`)
    - three numbers weigh the three (`subspace`, `position`, `output`); 0 leaves one out
    - the outputs themselves are those of plain attention
    Source: Li et al. 2018, "Multi-Head Attention with Disagreement Regularization".
    Book: 1.2.1.2
    """

    def __init__(
        self,
        *,
        subspace: float = 0.0,
        position: float = 0.0,
        output: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout)
        if min(subspace, position, output) < 0:
            raise ValueError(
                f"subspace={subspace}, position={position}, output={output}: a negative weight "
                "would reward agreement between heads; use weights >= 0"
            )
        self.subspace, self.position, self.output = subspace, position, output
        self.agreement = LossPoint()

    def extra_repr(self) -> str:
        return f"subspace={self.subspace}, position={self.position}, output={self.output}"

    def compute(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: Tensor | None, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d_v), that of `SoftmaxAttention`."""
        output = super().compute(q, k, v, mask, bias, scale)
        if self.agreement.listening:
            loss = output.new_zeros(())
            keys = _real(mask, k)
            queries = keys if q.shape[2] == k.shape[2] else output.new_ones(1, q.shape[2]).bool()
            if self.subspace:
                loss = loss + self.subspace * agreement(v, keys)
            if self.position:
                scores, allowed = biased(self.score(q, k, scale), self.allowed(mask, q, k), bias)
                weights = self.weigh(scores, allowed)
                loss = loss + self.position * overlap(weights, queries)
            if self.output:
                loss = loss + self.output * agreement(output, queries)
            self.agreement(loss)
        return output


def _real(mask: Mask | None, k: Tensor) -> Tensor:
    """Return which keys are real by the parts `Padding` of a mask: bool (B or 1, S)."""
    real = torch.ones(1, k.shape[2], dtype=torch.bool, device=k.device)
    for part in () if mask is None else mask.parts:
        if isinstance(part, Padding):
            real = real & part.real
    return real


def agreement(x: Tensor, real: Tensor) -> Tensor:
    """Return the mean cosine of all pairs of heads, a head with itself included, over the real
    positions: x (B, H, T, d), real bool (B or 1, T).

    Since sum_{i,j} x_i . x_j = |sum_i x_i|^2, no pair is formed.
    """
    heads = normalize(x, dim=-1).mean(1)  # (B, T, d)
    return _mean(heads.square().sum(-1), real)


def overlap(weights: Tensor, real: Tensor) -> Tensor:
    """Return the mean over real queries of 1 / H^2 sum_{i,j,s} A[i, t, s] A[j, t, s], for weights
    (B, H, T, S).
    """
    return _mean(weights.mean(1).square().sum(-1), real)


def _mean(values: Tensor, real: Tensor) -> Tensor:
    """The mean of `values` (B, T) where `real`; 0 where nothing is."""
    real = real.expand_as(values)
    return values.masked_fill(~real, 0.0).sum() / real.sum().clamp(min=1)

"""Attention in groups of queries, each with its own keys."""

import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.structure import StructuredAttention
from deepdive.core.softmax import SoftmaxAttention


class GroupedAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention within groups of m queries and their keys, which `grouped` returns.

    Hook points: `scores`, `weights` (B, H, T, keys of a group).
    """

    def grouped(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Return q (B, H, groups, m, d), padded at the end, k and v (B, H, groups, keys, d), and
        the pairs that are allowed, bool broadcasting to (B, H, groups, m, keys), None for all.
        """
        raise NotImplementedError

    def explicit(self, q: Tensor) -> bool:
        return self.listening or self.drops_on_cpu(q)

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        T = q.shape[2]
        q, k, v, allowed = self.grouped(q, k, v, real, causal)
        scores = self.score(q, k, scale)
        if allowed is not None:
            allowed = allowed.expand_as(scores).flatten(2, 3)[:, :, :T]
        weights = self.weigh(self.scores(scores.flatten(2, 3)[:, :, :T]), allowed)
        weights = self.dropout(self.weights(weights))
        weights = F.pad(weights, (0, 0, 0, q.shape[2] * q.shape[3] - T))
        return self.mix(weights.unflatten(2, q.shape[2:4]), v).flatten(2, 3)[:, :, :T]

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        T = q.shape[2]
        q, k, v, allowed = self.grouped(q, k, v, real, causal)
        shape = q.shape[1:3]
        if allowed is not None:
            allowed = allowed.expand(*q.shape[:4], k.shape[3]).flatten(1, 2)
        q, k, v = (x.flatten(1, 2) for x in (q, k, v))  # (B, H * groups, ...)
        mixed = self.in_one_call(q, k, v, allowed, None, scale)
        return mixed.unflatten(1, shape).flatten(2, 3)[:, :, :T]

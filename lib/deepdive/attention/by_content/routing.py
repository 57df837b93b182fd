"""Routing attention: attention within clusters of queries and keys, by online k-means."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.core.checks import positive
from deepdive.core.softmax import SoftmaxAttention


class RoutingAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention within clusters, at a cost of O(T * (clusters + size) * d).

        q, k    = layer_norm(q), layer_norm(k)                  # without gains
        members = the `size` queries, and the `size` keys, nearest to each centroid
        output  = mean over the clusters with the query and an allowed key of
                  softmax(scale * q @ k[members]^T) @ v[members]

    `size` is ceil(T / clusters) by default. A query in no cluster gets 0. In training, each pass
    moves every centroid (`centroids`, a buffer) towards the mean q and the mean k of the vectors
    that are nearest to it: c = layer_norm(decay * c + (1 - decay) * (mean_q + mean_k) / 2).
    So all centroids keep one length, and the nearest one is that with the largest product.
    Honours `Causal` (within a cluster; its members depend on later positions) and `Padding`;
    T = S. Hook points: `scores`, `weights` (B, H, clusters, size, size), members in their order.

    Raises ValueError when a number is out of range.

    System: routing
    Parent: transformer
    What differs:
    - a query attends to the keys of its cluster, whatever their distance (`clusters`, `size`)
    - the clusters follow queries and keys by a moving mean (`centroids`, `decay`), without gradient
    - queries and keys are normalized, so that the nearest centroid has the largest product
    Source: Roy et al. 2021, section 4 and algorithm 1.
    Book: table 1.2
    """

    queries = "all"
    centroids: Tensor

    def __init__(
        self,
        n_heads: int,
        d_head: int,
        clusters: int,
        size: int | None = None,
        *,
        decay: float = 0.999,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout)
        positive(n_heads=n_heads, d_head=d_head, clusters=clusters)
        positive(size=1 if size is None else size)
        if not 0 <= decay <= 1:
            raise ValueError(f"decay={decay}: expected a number between 0 and 1")
        self.n_heads, self.d_head = n_heads, d_head
        self.clusters, self.size, self.decay = clusters, size, decay
        self.register_buffer(
            "centroids", F.layer_norm(torch.randn(n_heads, clusters, d_head), (d_head,))
        )

    def extra_repr(self) -> str:
        return f"clusters={self.clusters}, size={self.size}, decay={self.decay}"

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        T, d = q.shape[2:]
        real = all_real(real, k).expand(q.shape[0], T)
        q, k = (F.layer_norm(x, (d,)) for x in (q, k))
        q_near, k_near = (self._near(x, real) for x in (q, k))  # (B, H, clusters, T)
        q_at, k_at = (self._members(s) for s in (q_near, k_near))  # (B, H, clusters, size)
        allowed = (_take(real, q_at).unsqueeze(-1)) & _take(real, k_at).unsqueeze(-2)
        if causal:
            allowed = allowed & (k_at.unsqueeze(-2) <= q_at.unsqueeze(-1))
        scores = self.scores(self.score(_rows(q, q_at), _rows(k, k_at), scale))
        weights = self.weights(self.weigh(scores, allowed))
        mixed = self.mix(self.dropout(weights), _rows(v, k_at))  # (B, H, clusters, size, d_v)
        if self.training and self.decay < 1:
            self._follow((q, q_near), (k, k_near), real)
        return _mean_by_row(mixed, allowed.any(-1), q_at, T)

    def _near(self, x: Tensor, real: Tensor) -> Tensor:
        """Return the similarity to each centroid, (B, H, clusters, T); lowest for padding."""
        similarity = self.centroids.to(x.dtype) @ x.detach().transpose(-2, -1)
        return similarity.masked_fill(~real[:, None, None], torch.finfo(x.dtype).min)

    def _members(self, similarity: Tensor) -> Tensor:
        T = similarity.shape[-1]
        size = -(-T // self.clusters) if self.size is None else min(self.size, T)
        return similarity.topk(size, dim=-1).indices.sort(dim=-1).values

    @torch.no_grad()
    def _follow(
        self, queries: tuple[Tensor, Tensor], keys: tuple[Tensor, Tensor], real: Tensor
    ) -> None:
        """Move each centroid towards the mean of the vectors nearest to it, if there are any."""
        numbers = torch.arange(self.clusters, device=real.device)[:, None]
        means, counts = [], []
        for x, similarity in (queries, keys):
            is_nearest = (similarity.argmax(2, keepdim=True) == numbers) & real[:, None, None]
            count = is_nearest.sum(dim=(0, 3)).unsqueeze(-1)  # (H, clusters, 1)
            total = (is_nearest.to(x.dtype) @ x).sum(0)
            means.append(torch.where(count > 0, total / count.clamp(min=1), self.centroids))
            counts.append(count)
        target = (means[0] + means[1]) / 2
        moved = self.centroids.lerp(target.to(self.centroids.dtype), 1 - self.decay)
        self.centroids.copy_(F.layer_norm(moved, moved.shape[-1:]))


def _take(real: Tensor, members: Tensor) -> Tensor:
    """real (B, T), members (B, H, clusters, size) -> bool (B, H, clusters, size)."""
    return real[:, None, None].expand(*members.shape[:3], -1).gather(-1, members)


def _rows(x: Tensor, members: Tensor) -> Tensor:
    """x (B, H, T, d), members (B, H, clusters, size) -> (B, H, clusters, size, d)."""
    index = members.flatten(2).unsqueeze(-1).expand(-1, -1, -1, x.shape[-1])
    return x.gather(2, index).unflatten(2, members.shape[2:])


def _mean_by_row(outputs: Tensor, has_key: Tensor, members: Tensor, T: int) -> Tensor:
    """Return (B, H, T, d_v): the mean output over the clusters in which a query has a key."""
    B, H, *_, d = outputs.shape
    index = members.flatten(2)
    total = outputs.new_zeros(B, H, T, d).scatter_add(
        2, index.unsqueeze(-1).expand(-1, -1, -1, d), outputs.flatten(2, 3)
    )
    count = outputs.new_zeros(B, H, T).scatter_add(2, index, has_key.flatten(2).to(outputs.dtype))
    return total / count.clamp(min=1).unsqueeze(-1)

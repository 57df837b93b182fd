"""Clustered attention: similar queries share the attention of their mean."""

import torch
from torch import Tensor

from deepdive._fast.clustered import blocks_of, into_blocks, of_owner, rows_at
from deepdive.attention.by_content.clusters import answers, hamming_clusters, means
from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.core.checks import not_negative, positive
from deepdive.core.masks import Padding
from deepdive.core.softmax import SoftmaxAttention


class ClusteredAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention in which all queries of a cluster attend as their mean.

        group[t] = cluster of q[t]                     # n_clusters of them: `hamming_clusters`
        centre[c] = mean of the q[t] with group[t] = c                 # (B, H, n_clusters, d)
        weights  = softmax(scale * centre @ k^T)                       # (B, H, n_clusters, S)
        output[t] = (weights @ v)[group[t]]                            # (B, H, T, d_v)

    Queries are grouped by the signs of `bits` random projections (`planes`, sampled once, a
    buffer), with `iterations` rounds of Lloyd's algorithm in Hamming distance. No gradient passes
    through the grouping; it passes through the means. The cost is O((T + S) n_clusters d).

    Honours `Padding`: where there are as many queries as keys, a padded query is not part of a mean
    either. Refuses `Causal`, other masks and a bias. Hook points: `scores`, `weights`
    (B, H, n_clusters, S), those of the centres.

    Raises ValueError when a size is not positive.
    Source: Vyas, Katharopoulos and Fleuret 2020, clustered attention.
    """

    honors = (Padding,)

    def __init__(
        self,
        d_head: int,
        n_clusters: int,
        *,
        bits: int = 32,
        iterations: int = 10,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout)
        positive(d_head=d_head, n_clusters=n_clusters, bits=bits)
        not_negative(iterations=iterations)
        self.d_head, self.n_clusters, self.iterations = d_head, n_clusters, iterations
        self.planes: Tensor
        self.register_buffer("planes", torch.randn(d_head, bits))

    def extra_repr(self) -> str:
        return f"n_clusters={self.n_clusters}, bits={self.planes.shape[1]}"

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        group, center = self.grouped(q, k, real)
        allowed = None if real is None else real[:, None, None]
        return answers(self.steps(center, k, v, allowed, None, scale), group)

    def grouped(self, q: Tensor, k: Tensor, real: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the cluster of each query and the mean of each cluster's real ones."""
        real = all_real(real if q.shape[2] == k.shape[2] else None, q)
        group = self.clusters(q, real)
        return group, means(q, group, real, self.n_clusters)

    def clusters(self, q: Tensor, real: Tensor) -> Tensor:
        """Return the cluster of each query, integers (B, H, T); `real` bool (B or 1, T)."""
        return hamming_clusters(q, self.planes, real, self.n_clusters, self.iterations)


class ImprovedClusteredAttention(ClusteredAttention):
    """Clustered attention with exact weights for each cluster's `top` keys (improved).

        best  = the `top` keys of largest weights[c]                    # by the centre's weights
        mass  = sum of weights[c] over best
        exact = softmax(scale * q[t] @ k[best]^T)                       # c = group[t]
        output[t] = mass * exact @ v[best] + sum over the other keys of weights[c] v

    So the weights of a cluster's top keys are exact up to their mass, and the rest keep the
    centre's weights. The paper proves that this is never further from softmax attention than
    `ClusteredAttention`, in the sum of the absolute differences of a query's weights.

    In `fast` queries are sorted by cluster into blocks of one cluster each, so that a block and its
    `top` keys are one product. Cost: O((T + S) n_clusters d + T top d). Hook points as its
    parent; while one has a hook, every query is scored with every key.

    Raises ValueError when `top` is not positive.
    Source: Vyas, Katharopoulos and Fleuret 2020, improved clustered attention.

    System: clustered
    Parent: transformer
    What differs:
    - all queries of a cluster attend as their mean (`ClusteredAttention`, `n_clusters`)
    - k-means on the signs of random projections forms the clusters (`bits`, `iterations`)
    - each query has its own weights for the cluster's top keys (`top`)
    Source: Vyas, Katharopoulos and Fleuret 2020.
    Book: 5.2.5.1
    """

    def __init__(
        self,
        d_head: int,
        n_clusters: int,
        *,
        top: int = 32,
        bits: int = 32,
        iterations: int = 10,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(d_head, n_clusters, bits=bits, iterations=iterations, dropout=dropout)
        positive(top=top)
        self.top = top

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, top={self.top}"

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        group, weights, mass, best = self._of_centers(q, k, real, scale)
        is_best = torch.zeros_like(weights, dtype=torch.bool).scatter(-1, best, True)
        allowed = is_best if real is None else is_best & real[:, None, None]
        exact = self.weigh(self.score(q, k, scale), answers(allowed, group))  # (B, H, T, S)
        rest = answers(self.mix(self.dropout(weights).masked_fill(is_best, 0.0), v), group)
        return rest + self.mix(self.dropout(exact * answers(mass, group)), v)

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        group, weights, mass, best = self._of_centers(q, k, real, scale)
        rest = answers(self.mix(self.dropout(weights).scatter(-1, best, 0.0), v), group)
        position, owner = blocks_of(group, self.n_clusters)  # (B, H, T), (B, H, blocks)
        q = into_blocks(q, position, owner.shape[2])  # (B, H, blocks, block, d)
        best, mass = of_owner(best, owner), of_owner(mass, owner)
        best_kv = [rows_at(x, best) for x in (k, v)]  # (B, H, blocks, top, d)
        allowed = None
        if real is not None:
            allowed = rows_at(real[:, None, :, None].expand(*k.shape[:3], 1), best).mT
        exact = self.weigh(self.score(q, best_kv[0], scale), allowed)
        output = self.dropout(exact * mass.unsqueeze(-1)) @ best_kv[1]
        index = position.unsqueeze(-1).expand(-1, -1, -1, v.shape[-1])
        return rest + output.flatten(2, 3).gather(2, index)

    def _of_centers(
        self, q: Tensor, k: Tensor, real: Tensor | None, scale: float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the cluster of each query, the centres' weights (B, H, n_clusters, S), and of each
        centre's best keys the mass (..., 1) and the positions (..., top).
        """
        group, center = self.grouped(q, k, real)
        allowed = None if real is None else real[:, None, None]
        weights = self.weights(self.weigh(self.scores(self.score(center, k, scale)), allowed))
        best_weights, best = weights.topk(min(self.top, k.shape[2]), dim=-1)
        return group, weights, best_weights.sum(-1, keepdim=True), best

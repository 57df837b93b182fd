"""Clustered attention: queries that look alike ask as one."""

import torch
from torch import Tensor

from deepdive._fast.clustered import blocks_of, into_blocks, of_owner, rows_at
from deepdive.attention.by_content.clusters import answers, hamming_clusters, means
from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.core.checks import not_negative, positive
from deepdive.core.masks import Padding
from deepdive.core.softmax import SoftmaxAttention


class ClusteredAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention in which the mean of a cluster of queries asks for all of them.

        group[t] = cluster of q[t]                     # n_clusters of them: `hamming_clusters`
        centre[c] = mean of the q[t] with group[t] = c                 # (B, H, n_clusters, d)
        weights  = softmax(scale * centre @ k^T)                       # (B, H, n_clusters, S)
        output[t] = (weights @ v)[group[t]]                            # (B, H, T, d_v)

    Queries are grouped by the signs of `bits` random projections (`planes`, drawn once, a buffer),
    with `iterations` rounds of Lloyd's algorithm in Hamming distance. No gradient passes through
    the grouping; it passes through the means. The cost is O((T + S) n_clusters d).

    Honours `Padding`: where there are as many queries as keys, a padded query has no part in a
    mean either. Refuses `Causal`, other masks and a bias. Hook points: `scores`, `weights`
    (B, H, n_clusters, S), those of the centres.

    Raises ValueError when a size is not positive.
    Source: Vyas, Katharopoulos and Fleuret 2020, clustered attention.
    """

    honours = (Padding,)

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
        group, centre = self.grouped(q, k, real)
        allowed = None if real is None else real[:, None, None]
        return answers(self.steps(centre, k, v, allowed, None, scale), group)

    def grouped(self, q: Tensor, k: Tensor, real: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the cluster of each query and the mean of each cluster's real ones."""
        real = all_real(real if q.shape[2] == k.shape[2] else None, q)
        group = self.clusters(q, real)
        return group, means(q, group, real, self.n_clusters)

    def clusters(self, q: Tensor, real: Tensor) -> Tensor:
        """Return the cluster of each query, integers (B, H, T); `real` bool (B or 1, T)."""
        return hamming_clusters(q, self.planes, real, self.n_clusters, self.iterations)


class ImprovedClusteredAttention(ClusteredAttention):
    """Clustered attention in which each query weighs its cluster's `top` best keys itself.

        best  = the `top` keys of largest weights[c]                    # by the centre's weights
        mass  = sum of weights[c] over best
        own   = softmax(scale * q[t] @ k[best]^T)                       # c = group[t]
        output[t] = mass * own @ v[best] + sum over the other keys of weights[c] v

    So the keys that matter most to a cluster are exact up to their mass, and the rest keep the
    centre's weights. The paper proves that this is never further from softmax attention than
    `ClusteredAttention` is, in the sum of the absolute differences of a row of weights.

    In `fast` queries are sorted by cluster into blocks of one cluster each, so that a block meets
    its `top` keys in one product. Cost: O((T + S) n_clusters d + T top d). Hook points as its
    parent; while one listens, every query is scored with every key.

    Raises ValueError when `top` is not positive.
    Source: Vyas, Katharopoulos and Fleuret 2020, improved clustered attention.

    System: clustered
    Parent: transformer
    What differs:
    - the mean of a cluster of queries asks for all of them (`ClusteredAttention`, `n_clusters`)
    - clusters are found among the signs of random projections (`bits`, `iterations`)
    - the cluster's best keys are weighed again by each query itself (`top`)
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
        group, weights, mass, best = self._of_centres(q, k, real, scale)
        is_best = torch.zeros_like(weights, dtype=torch.bool).scatter(-1, best, True)
        allowed = is_best if real is None else is_best & real[:, None, None]
        own = self.weigh(self.score(q, k, scale), answers(allowed, group))  # (B, H, T, S)
        rest = answers(self.mix(self.dropout(weights).masked_fill(is_best, 0.0), v), group)
        return rest + self.mix(self.dropout(own * answers(mass, group)), v)

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        group, weights, mass, best = self._of_centres(q, k, real, scale)
        rest = answers(self.mix(self.dropout(weights).scatter(-1, best, 0.0), v), group)
        place, owner = blocks_of(group, self.n_clusters)  # (B, H, T), (B, H, blocks)
        q = into_blocks(q, place, owner.shape[2])  # (B, H, blocks, block, d)
        best, mass = of_owner(best, owner), of_owner(mass, owner)
        near = [rows_at(rows, best) for rows in (k, v)]  # (B, H, blocks, top, d)
        allowed = None
        if real is not None:
            allowed = rows_at(real[:, None, :, None].expand(*k.shape[:3], 1), best).mT
        own = self.weigh(self.score(q, near[0], scale), allowed)
        exact = self.dropout(own * mass.unsqueeze(-1)) @ near[1]
        index = place.unsqueeze(-1).expand(-1, -1, -1, v.shape[-1])
        return rest + exact.flatten(2, 3).gather(2, index)

    def _of_centres(
        self, q: Tensor, k: Tensor, real: Tensor | None, scale: float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the cluster of each query, the centres' weights (B, H, n_clusters, S), and of each
        centre's best keys the mass (..., 1) and the places (..., top).
        """
        group, centre = self.grouped(q, k, real)
        allowed = None if real is None else real[:, None, None]
        weights = self.weights(self.weigh(self.scores(self.score(centre, k, scale)), allowed))
        share, best = weights.topk(min(self.top, k.shape[2]), dim=-1)
        return group, weights, share.sum(-1, keepdim=True), best

"""Cases of `deepdive.attention.by_content.clustered`."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from deepdive.attention.by_content.clustered import ClusteredAttention, ImprovedClusteredAttention
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.masks import Padding
from laws import Case, Fails, Refuses, case, random_rows
from laws.attention.softmax import mechanism_case

ALL_AT_ONCE = Refuses("a cluster holds early and late queries: one answer cannot hide the future")


STARTS = Fails("the clusters start from queries that are taken by their place")


def _declared(mechanism: type[ClusteredAttention]) -> Case:
    """What the two have in common."""
    q, k, v = (random_rows(2, 2, 40, 4, seed=seed) for seed in range(3))
    real = torch.ones(2, 40).bool()
    real[1, 5:11] = False

    def make(n_clusters: int) -> ClusteredAttention:
        torch.manual_seed(0)
        return mechanism(4, n_clusters, bits=64)

    def a_cluster_each() -> tuple[Tensor, Tensor]:
        masks = (None, Padding(real))
        ours = [make(40)(q, k, v, mask) for mask in masks]
        exact = [SoftmaxAttention()(q, k, v, mask) for mask in masks]
        return torch.cat(ours)[:3], torch.cat(exact)[:3]  # the last has padded queries

    def queries_that_repeat() -> tuple[Tensor, Tensor]:
        few = q[:, :, :5].repeat_interleave(8, dim=2)
        return make(5)(few, k, v), SoftmaxAttention()(few, k, v)

    return mechanism_case(
        lambda: mechanism(4, 3),
        parity="the paper's equations, written out as loops over clusters, queries and keys",
        limits={
            "every query its own cluster: SoftmaxAttention": a_cluster_each,
            "equal queries in each cluster: SoftmaxAttention": queries_that_repeat,
        },
        refusals={"no clusters": lambda: mechanism(4, 0)},
        laws={"no_leak": ALL_AT_ONCE, "cache": ALL_AT_ONCE, "order": STARTS},
    )


@case("ClusteredAttention", ClusteredAttention)
def _() -> Case:
    return _declared(ClusteredAttention)


@case("clustered", ImprovedClusteredAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 70, 4, seed=seed) for seed in range(3))

    def every_key() -> tuple[Tensor, Tensor]:
        return ImprovedClusteredAttention(4, 5, top=70)(q, k, v), SoftmaxAttention()(q, k, v)

    shared = _declared(ImprovedClusteredAttention)
    limits = {**shared.limits, "top = S: SoftmaxAttention": every_key}
    refusals = {**shared.refusals, "no top": lambda: ImprovedClusteredAttention(4, 3, top=0)}
    return replace(
        shared,
        make=lambda: ImprovedClusteredAttention(4, 3, top=2),
        limits=limits,
        refusals=refusals,
    )

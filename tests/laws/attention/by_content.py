"""Cases of `deepdive.attention.by_content`."""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.by_content.clustered import ClusteredAttention, ImprovedClusteredAttention
from deepdive.attention.by_content.lsh import LSHAttention, LSHMaskAttention, ReleasedLSHAttention
from deepdive.attention.by_content.prob_sparse import ProbSparseAttention
from deepdive.attention.by_content.routing import RoutingAttention
from deepdive.attention.by_content.shared_qk import (
    SharedQKAttention,
    SharedQKMultiHeadAttention,
    directions,
)
from deepdive.attention.by_content.sinkhorn import SinkhornAttention, balance
from deepdive.attention.by_content.yoso import ExpectedYosoAttention, YosoAttention
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.core.masks import Causal
from deepdive.core.softmax import SoftmaxAttention
from laws import Case, Fails, Refuses, case, random_rows, set_weights
from laws.attention.softmax import gap, heads, mean, mechanism_case, same

ALL_AT_ONCE = Refuses("a cluster holds early and late queries: one answer cannot hide the future")
SQUARE = Refuses("a key for each query: earlier keys are not kept")
LEAKS = Fails(
    "where a chunk ends depends on the buckets of later rows: which keys, not what they say"
)
NO_SUM = Refuses("weights that sum to one do not exist: record says so")


def clustered_case(mechanism: type[ClusteredAttention]) -> Case:
    """Return what the two forms of clustered attention have in common."""
    q, k, v = rows = heads(40)

    def make(n_clusters: int) -> ClusteredAttention:
        torch.manual_seed(0)
        return mechanism(4, n_clusters, bits=64)

    def a_cluster_each() -> tuple[Tensor, Tensor]:
        ours, exact = same(make(40), rows, None, gap(40, 5, 11))()
        return ours[:3], exact[:3]  # the last has padded queries

    few = q[:, :, :5].repeat_interleave(8, dim=2)
    return mechanism_case(
        lambda: mechanism(4, 3),
        parity="the paper's equations, written out as loops over clusters, queries and keys",
        limits={
            "every query its own cluster: SoftmaxAttention": a_cluster_each,
            "equal queries in each cluster: SoftmaxAttention": same(make(5), [few, k, v]),
        },
        refusals={"no clusters": lambda: mechanism(4, 0)},
        laws={
            "no_leak": ALL_AT_ONCE,
            "cache": ALL_AT_ONCE,
            "order": Fails("the clusters start from queries that are taken by their place"),
        },
    )


case("ClusteredAttention", ClusteredAttention)(partial(clustered_case, ClusteredAttention))


@case("clustered", ImprovedClusteredAttention)
def _() -> Case:
    shared = clustered_case(ImprovedClusteredAttention)
    every_key = same(ImprovedClusteredAttention(4, 5, top=70), heads(70))
    no_top = {"no top": lambda: ImprovedClusteredAttention(4, 3, top=0)}
    return replace(
        shared,
        make=lambda: ImprovedClusteredAttention(4, 3, top=2),
        limits={**shared.limits, "top = S: SoftmaxAttention": every_key},
        refusals={**shared.refusals, **no_top},
    )


def lsh_case(part: type[LSHMaskAttention], parity: str, **limits: Any) -> Case:
    """Return the case of a form of attention by locality-sensitive hashing."""
    q, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(2))
    everything = same(part(23, 3, 1), [q, q, v], None, Causal(), plain=SharedQKAttention())
    return mechanism_case(
        lambda: part(2, 2, 4),
        parity=parity,
        limits={"one bucket, one chunk: SharedQKAttention": everything, **limits},
        refusals={"no chunk": lambda: part(0), "an odd number of buckets": lambda: part(4, 1, 3)},
        laws={
            "cache": SQUARE,
            "order": Fails(
                "within a bucket rows stand in their order, so that chunks end elsewhere"
            ),
            "no_leak": LEAKS,
        },
    )


@case("LSHAttention", LSHAttention)
def _() -> Case:
    q, v = (random_rows(2, 2, 23, 4, seed=seed) for seed in range(2))
    rows, padding = [q, q, v], gap(23, 5, 11)
    ours, mask = (part(4, 3, 4).eval() for part in (LSHAttention, LSHMaskAttention))
    limits = {"LSHMaskAttention": same(ours, rows, None, padding, padding & Causal(), plain=mask)}
    return lsh_case(LSHAttention, LOOPS, **limits)


LOOPS, RELEASED = "the definition in loops", "transformers LSHSelfAttention"
case("LSHMaskAttention", LSHMaskAttention)(partial(lsh_case, LSHMaskAttention, LOOPS))
case("ReleasedLSHAttention", ReleasedLSHAttention)(
    partial(lsh_case, ReleasedLSHAttention, RELEASED)
)


@case("ProbSparseAttention", ProbSparseAttention)
def _() -> Case:
    q, k, v = rows = heads(40)
    padding = gap(40, 5, 11)
    alike = k[:, :, :1].expand_as(k)  # keys that no query can tell apart: the mean is exact
    over_all = Fails("which queries are active is decided over the whole row")
    return mechanism_case(
        lambda: ProbSparseAttention(1),
        parity="transformers InformerProbSparseAttention",
        limits={
            "u = T: SoftmaxAttention, causal and padded too": same(
                ProbSparseAttention(10), rows, None, padding, Causal(), Causal() & padding
            ),
            "keys that are equal: SoftmaxAttention": same(
                ProbSparseAttention(2).eval(), [q, alike, v]
            ),
        },
        laws={
            "no_leak": over_all,
            "cache": over_all,
            "order": Fails("which keys a query samples depends on its place"),
        },
        refusals={"no factor": lambda: ProbSparseAttention(0)},
    )


@case("routing", RoutingAttention)
def _() -> Case:
    q, k, v = heads(9)
    padding = gap(9, 5, 9)

    def one_cluster() -> tuple[Tensor, Tensor]:
        routing = RoutingAttention(2, 4, 1, 9).double()
        qn, kn = F.layer_norm(q, (4,)), F.layer_norm(k, (4,))
        masks = (None, Causal(), padding)
        ours = torch.stack([routing(q, k, v, mask) for mask in masks])
        full = torch.stack([SoftmaxAttention()(qn, kn, v, mask) for mask in masks])
        real = padding.real[:, None, :, None]
        return ours * real, full * real

    def make() -> RoutingAttention:
        torch.manual_seed(0)
        return RoutingAttention(4, 4, 2, 4)

    return mechanism_case(
        make,
        parity="the equation in loops",
        limits={"one cluster of all rows: SoftmaxAttention on normalised rows": one_cluster},
        laws={
            "no_leak": Fails("which rows a cluster holds depends on later ones"),
            "cache": Refuses("a key for each query: clusters are formed anew"),
        },
        refusals={"no cluster": lambda: RoutingAttention(2, 4, 0)},
    )


@case("SharedQKAttention", SharedQKAttention)
def _() -> Case:
    q, v = random_rows(2, 2, 5, 4), random_rows(2, 2, 5, 4, seed=1)

    def by_hand() -> tuple[Tensor, Tensor]:
        """The first row has no other key under a causal mask; the last one has all but its own."""
        ours = SharedQKAttention()(q, q, v, Causal())
        scores = q[:, :, -1:] @ directions(q[:, :, :-1]).transpose(-2, -1)
        last = scores.softmax(-1) @ v[:, :, :-1]
        return ours[:, :, [0, -1]], torch.cat([v[:, :, :1], last], dim=2)

    return mechanism_case(
        SharedQKAttention,
        parity="the equation in loops",
        limits={"the first row itself, the last one all others": by_hand},
        laws={"cache": SQUARE},
    )


@case("SharedQKMultiHeadAttention", SharedQKMultiHeadAttention)
def _() -> Case:
    def no_projections() -> tuple[Tensor, Tensor]:
        x, one = random_rows(2, 5, 8), torch.eye(8)
        layer = SharedQKMultiHeadAttention(8, 1)
        set_weights(layer, qk__weight=one, v__weight=one, out__weight=one)
        return layer(x), SharedQKAttention()(x[:, None], x[:, None], x[:, None])[:, 0]

    rows = torch.zeros(1, 3, 8)
    return Case(
        place="layer",
        make=lambda: SharedQKMultiHeadAttention(16, 4),
        parity="transformers LSHSelfAttention, one chunk",
        limits={"one head, no projections: the mechanism": no_projections},
        refusals={
            "heads that do not divide": lambda: SharedQKMultiHeadAttention(10, 4),
            "foreign rows": lambda: SharedQKMultiHeadAttention(8, 2)(rows, rows),
        },
        laws={"cache": SQUARE},
    )


@case("sinkhorn", SinkhornAttention)
def _() -> Case:
    rows, padding = heads(11), gap(11, 5, 11)
    causal = Causal() & padding

    def doubly_stochastic() -> tuple[Tensor, Tensor]:
        S = balance(random_rows(3, 5, 5), torch.ones(5, 5).bool(), 200)
        return torch.cat([S.sum(-1), S.sum(-2)]), torch.ones(6, 5, dtype=S.dtype)

    one = SinkhornAttention(2, 4, 11, 1).double().eval()
    zeros = [torch.zeros(1, 2, 7, 4)] * 3
    return mechanism_case(
        lambda: SinkhornAttention(4, 4, 2, 4),
        parity="the equation in loops",
        limits={
            "one block: SoftmaxAttention": same(one, rows, None, Causal(), padding, causal),
            "many iterations: rows and columns sum to 1": doubly_stochastic,
        },
        laws={
            "order": Fails("blocks are cut by position"),
            "cache": Refuses("a key for each query: blocks are sorted anew"),
        },
        refusals={
            "no block": lambda: SinkhornAttention(2, 4, 0, 1),
            "a text that is too long": lambda: SinkhornAttention(2, 4, 2, 3)(*zeros),
        },
    )


@case("ExpectedYosoAttention", ExpectedYosoAttention)
def _() -> Case:
    q, k, v = heads()

    def one_angle() -> tuple[Tensor, Tensor]:
        """At one angle to all keys, all weights are equal: the mean, at length 1."""
        same = k[:, :, :1].expand_as(k)
        return ExpectedYosoAttention()(q, same, v), F.normalize(mean(v), dim=-1)

    def sharp() -> tuple[Tensor, Tensor]:
        """With very many bits only the key in the query's own direction is left."""
        return ExpectedYosoAttention(2000)(3 * k, k, v), F.normalize(v, dim=-1)

    return mechanism_case(
        lambda: ExpectedYosoAttention(3),
        parity="transformers YosoModel(use_expectation=True)",
        limits={"one angle: the mean": one_angle, "many bits: the key itself": sharp},
        laws={"hooks": NO_SUM},
    )


@case("yoso", YosoAttention)
def _() -> Case:
    q, k, v = heads()
    padding = gap(5, 3, 5)

    def counted() -> tuple[Tensor, Tensor]:
        """The share of hashes that agree, written out as weights."""
        attention = YosoAttention(4, 3, 7).double()
        agree = attention.buckets(q)[..., :, None] == attention.buckets(k)[..., None, :]
        weights = agree.double().mean(0) * padding.real[:, None, None, :]
        return attention(q, k, v, padding), F.normalize(weights @ v, dim=-1)

    def causally() -> tuple[Tensor, Tensor]:
        """The same weights, those of later keys at 0."""
        attention = YosoAttention(4, 3, 7).double()
        agree = attention.buckets(k)[..., :, None] == attention.buckets(k)[..., None, :]
        weights = agree.double().mean(0).tril()
        return attention(k, k, v, Causal()), F.normalize(weights @ v, dim=-1)

    return mechanism_case(
        lambda: YosoAttention(4, 2, 16),
        parity="the share of agreeing hashes written out, its slope, and its error's rate",
        limits={"the hashes counted": counted, "counted up to each place": causally},
        refusals={
            "buckets": lambda: YosoAttention(8, 40),
            "a convolution adds later values": lambda: YosoAttention(
                4, 2, 16, convolution=ValueConvolution(2, 3)
            ).double()(q, q, q, Causal()),
        },
        laws={"hooks": NO_SUM},
    )

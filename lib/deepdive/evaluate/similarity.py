"""Similarity of vectors: cosine, anisotropy, rank correlation, retrieval, and margin scores."""

import torch.nn.functional as F
from torch import Tensor

from deepdive.core.checks import finite


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """Return cos(a_i, b_j) for vectors a (N, d) and b (M, d): (N, M); 0 for a zero vector.

    Computed in the dtype of a and b. In float32, cosines near 1 that differ by about 1e-7 get an
    arbitrary order: pass float64 if the vectors share a large common component.
    """
    _vectors(a, "a")
    _vectors(b, "b", like=a)
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T


def anisotropy(vectors: Tensor) -> float:
    """Return the mean cosine similarity of the N (N - 1) / 2 pairs of different vectors (N, d):

        (|sum_i x_i / |x_i||^2 - N) / (N (N - 1))

    0 if the directions are spread evenly, 1 if they are all the same. The formula needs N products,
    not N^2: the squared sum contains the cosine of each pair twice, and each vector's with itself,
    1. Raises ValueError if N is below 2 or a vector is 0.

    Source: Ethayarajh 2019, section 3.2, who samples pairs.
    """
    _vectors(vectors, "vectors")
    n = len(vectors)
    if n < 2:
        raise ValueError("vectors: got one row, expected two or more")
    if not vectors.any(dim=1).all():
        raise ValueError("vectors: a row is 0 and has no direction; drop such rows")
    total = F.normalize(vectors.double(), dim=-1).sum(0).square().sum()
    return ((total - n) / (n * (n - 1))).item()


def spearman(a: Tensor, b: Tensor) -> float:
    """Return Spearman's rank correlation of a and b, (N,) each: 1 if their order is the same.

    Ties get the mean of their ranks. Raises ValueError if shapes differ, N is below 2, all values
    of one are equal, or some are NaN or infinite.
    """
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(
            f"a, b: got shapes {tuple(a.shape)} and {tuple(b.shape)}, expected equal shapes "
            "(N,), N at least 2"
        )
    finite("a", a)
    finite("b", b)
    x, y = ranks(a), ranks(b)
    x, y = x - x.mean(), y - y.mean()
    if not (x.any() and y.any()):
        raise ValueError("a, b: all values of one are equal, so there is no order to compare")
    return (x @ y / (x.norm() * y.norm())).item()


def ranks(values: Tensor) -> Tensor:
    """Return the ranks of values (N,), from 1, as float64; ties get the mean of their ranks."""
    _, inverse, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    return (last - (counts.double() - 1) / 2)[inverse]


def nearest(queries: Tensor, targets: Tensor) -> Tensor:
    """Return the index (N,) of the target (M, d) with the largest cosine to each query (N, d).

    Compared in float64, so the order is exact even for vectors that share a large common component.
    """
    _vectors(queries, "queries")
    _vectors(targets, "targets", like=queries)
    return cosines(queries.double(), targets.double()).argmax(-1)


def ratio_scores(table: Tensor, k: int = 4) -> Tensor:
    """Return ratio margin scores (N, M): each cosine in `table`, divided by the mean cosine of its
    two texts with their k nearest neighbors:

        score_ij = c_ij / ((mean of row i's k largest + mean of column j's k largest) / 2)

    A *hub*, close to everything, is also close to its neighbors, and loses its advantage. So scores
    are comparable across rows, and one threshold works for all candidates. Raises ValueError for
    fewer than k rows or columns, or if a mean is not above 0. Source: Artetxe and Schwenk 2019,
    "Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings", section 3, ratio;
    k = 4 as in the paper.
    """
    if table.ndim != 2 or not 1 <= k <= min(table.shape):
        raise ValueError(f"table: got shape {tuple(table.shape)}, expected {k} by {k} or more")
    rows, columns = table.topk(k, 1).values.mean(1), table.topk(k, 0).values.mean(0)
    near = (rows[:, None] + columns) / 2
    if not (near > 0).all():
        raise ValueError("table: a mean over neighbors is not above 0: the ratio is meaningless")
    return table / near


def neighbors(
    table: Tensor, query: Tensor, n: int = 5, without: tuple[int, ...] = ()
) -> tuple[Tensor, Tensor]:
    """Return the ids (n,) of the rows of `table` (V, d) nearest to `query` (d,), and their cosines.

    `without` lists ids to exclude, such as the query word's own. For an analogy a : b = c : ? the
    query is b - a + c of unit vectors, without a, b and c.
    Source: Mikolov et al. 2013, Efficient Estimation, section 4.
    """
    found = cosines(table, query.unsqueeze(0))[:, 0]  # (V,)
    found[list(without)] = -2.0  # below any cosine
    values, ids = found.topk(min(n, len(table) - len(set(without))))
    return ids, values


def _vectors(vectors: Tensor, name: str, like: Tensor | None = None) -> None:
    if vectors.ndim != 2 or not vectors.is_floating_point():
        raise ValueError(
            f"{name}: got {vectors.dtype} of shape {tuple(vectors.shape)}, expected floats "
            "(N, d), one vector per row"
        )
    if like is not None and vectors.shape[1] != like.shape[1]:
        raise ValueError(
            f"{name}: got d={vectors.shape[1]}, expected {like.shape[1]}, as the other; use "
            "one encoder for both"
        )

"""How alike vectors are, and whether that agrees with how alike their texts are."""

import torch.nn.functional as F
from torch import Tensor

from deepdive.core.checks import finite


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """Return cos(a_i, b_j) for rows of a (N, d) and b (M, d): (N, M). A row of zeros gives 0.

    Computed in the dtype of a and b. In float32, cosines near 1 that differ by about 1e-7 get a
    random order: pass float64 where vectors share a large common part.
    """
    _vectors(a, "a")
    _vectors(b, "b", like=a)
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T


def anisotropy(vectors: Tensor) -> float:
    """Return the mean cosine of two different rows of vectors (N, d), over all N (N - 1) / 2 pairs:

        (|sum_i x_i / |x_i||^2 - N) / (N (N - 1))

    0 where directions are spread evenly, 1 where all are one. The formula needs N products, not
    N^2: the squared sum holds the cosine of each pair twice, and each row's with itself, 1.
    Raises ValueError when N is below 2 or a row is 0.

    Source: Ethayarajh 2019, section 3.2, who draws pairs.
    """
    _vectors(vectors, "vectors")
    n = len(vectors)
    if n < 2:
        raise ValueError("vectors: got one row, expected two or more")
    if not vectors.any(dim=1).all():
        raise ValueError("vectors: a row is 0 and has no direction; leave it out")
    total = F.normalize(vectors.double(), dim=-1).sum(0).square().sum()
    return ((total - n) / (n * (n - 1))).item()


def spearman(a: Tensor, b: Tensor) -> float:
    """Return the correlation of the ranks of a and b, (N,) each: 1 where the order is the same.

    Equal values share the mean of their ranks. Raises ValueError when shapes differ, N is below 2,
    all values of one are equal, or some are NaN or infinite.
    """
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(
            f"a, b: got shapes {tuple(a.shape)} and {tuple(b.shape)}, expected one shape "
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
    """Return the rank of each of values (N,), from 1, float64; equal ones share their mean."""
    _, inverse, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    return (last - (counts.double() - 1) / 2)[inverse]


def nearest(queries: Tensor, targets: Tensor) -> Tensor:
    """Return for each of queries (N, d) the row of targets (M, d) with the largest cosine: (N,).

    Compared in float64, so vectors that share a large common part keep their order.
    """
    _vectors(queries, "queries")
    _vectors(targets, "targets", like=queries)
    return cosines(queries.double(), targets.double()).argmax(-1)


def ratio_scores(table: Tensor, k: int = 4) -> Tensor:
    """Return each cosine of table (N, M) over the mean cosine of both texts with their neighbours:

        score_ij = c_ij / ((mean of row i's k largest + mean of column j's k largest) / 2)

    A text that is near everything, a *hub*, is near its neighbours too, and loses its advantage.
    So scores of different rows can be compared, and one threshold serves a whole heap. Raises
    ValueError unless there are k rows and k columns, and those means are above 0.

    Source: Artetxe and Schwenk 2019, "Margin-based Parallel Corpus Mining with Multilingual
    Sentence Embeddings", section 3, their ratio; k = 4 is theirs.
    """
    if table.ndim != 2 or not 1 <= k <= min(table.shape):
        raise ValueError(f"table: got shape {tuple(table.shape)}, expected {k} by {k} or more")
    rows, columns = table.topk(k, 1).values.mean(1), table.topk(k, 0).values.mean(0)
    near = (rows[:, None] + columns) / 2
    if not (near > 0).all():
        raise ValueError("table: a mean over neighbours is not above 0; a ratio to it says nothing")
    return table / near


def neighbours(
    table: Tensor, query: Tensor, n: int = 5, without: tuple[int, ...] = ()
) -> tuple[Tensor, Tensor]:
    """Return the ids (n,) of the rows of `table` (V, d) nearest to `query` (d,), and their cosines.

    `without` names rows that do not count, such as the word that is asked for. An analogy
    a : b = c : ? asks with b - a + c of rows of length 1, without a, b and c.
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
            "(N, d), a vector a row"
        )
    if like is not None and vectors.shape[1] != like.shape[1]:
        raise ValueError(
            f"{name}: got {vectors.shape[1]} wide, expected {like.shape[1]}, as the other; use "
            "one encoder for both"
        )

"""How far two sets of vectors are apart as wholes, not vector by vector."""

import torch
from torch import Tensor


def frechet(a: Tensor, b: Tensor) -> float:
    """Return the squared Frechet distance of two normal distributions that have the means and
    covariances of the rows of a (N, d) and b (M, d):

        |m_a - m_b|^2 + tr(C_a + C_b - 2 (C_a^(1/2) C_b C_a^(1/2))^(1/2))

    0 for equal sets. It is biased upwards, the more the fewer the rows: compare equal numbers only.
    Computed in float64. Raises ValueError unless both have rows of one width, d + 1 at least.
    Source: Heusel et al. 2017, section 2; there d are features of Inception.
    """
    for name, rows in (("a", a), ("b", b)):
        if rows.ndim != 2 or rows.shape[1] != a.shape[-1] or len(rows) <= rows.shape[1]:
            raise ValueError(
                f"{name}: got {tuple(rows.shape)}, expected (N, d={a.shape[-1]}) with more "
                "rows than columns, or the covariance has no full rank"
            )
    a, b = a.double(), b.double()
    one, two = (torch.atleast_2d(torch.cov(rows.T)) for rows in (a, b))
    root = _root(one)
    between = _root(root @ two @ root)
    apart = (a.mean(0) - b.mean(0)).square().sum()
    return float(apart + one.trace() + two.trace() - 2 * between.trace())


def _root(matrix: Tensor) -> Tensor:
    """The square root of a symmetric matrix without negative eigenvalues."""
    values, vectors = torch.linalg.eigh((matrix + matrix.T) / 2)
    return vectors * values.clamp(min=0).sqrt() @ vectors.T

"""Frechet distance between two sets of feature vectors, as in FID."""

import torch
from torch import Tensor


def frechet(a: Tensor, b: Tensor) -> float:
    """Return the squared Frechet distance between the normal distributions with the means and
    covariances of the vectors a (N, d) and b (M, d):

        |m_a - m_b|^2 + tr(C_a + C_b - 2 (C_a^(1/2) C_b C_a^(1/2))^(1/2))

    0 for equal sets. It is biased upward, more so for fewer vectors: compare only equal numbers of
    them. Computed in float64. Raises ValueError unless both have the same d and at least d + 1
    vectors. Source: Heusel et al. 2017, section 2; there the vectors are Inception features.
    """
    for name, rows in (("a", a), ("b", b)):
        if rows.ndim != 2 or rows.shape[1] != a.shape[-1] or len(rows) <= rows.shape[1]:
            raise ValueError(
                f"{name}: got {tuple(rows.shape)}, expected (N, d={a.shape[-1]}) with more "
                "rows than columns, for a covariance of full rank"
            )
    a, b = a.double(), b.double()
    cov_a, cov_b = (torch.atleast_2d(torch.cov(rows.T)) for rows in (a, b))
    root = _root(cov_a)
    between = _root(root @ cov_b @ root)
    mean_distance = (a.mean(0) - b.mean(0)).square().sum()
    return float(mean_distance + cov_a.trace() + cov_b.trace() - 2 * between.trace())


def _root(matrix: Tensor) -> Tensor:
    """Return the square root of a symmetric positive semidefinite matrix."""
    values, vectors = torch.linalg.eigh((matrix + matrix.T) / 2)
    return vectors * values.clamp(min=0).sqrt() @ vectors.T

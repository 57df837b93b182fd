"""Whitening: a linear map to isotropic sentence embeddings, without training. Su et al. 2021,
"Whitening Sentence Representations for Better Semantics and Faster Retrieval".

It follows the pooling of `deepdive.models.bert.sbert`, whose header also covers this system.
"""

import torch
from torch import Tensor, nn


class Whitening(nn.Module):
    """Whitening map: vectors (..., d) -> (vectors - centre) matrix, (..., k); see `whitening`."""

    center: Tensor
    matrix: Tensor

    def __init__(self, center: Tensor, matrix: Tensor) -> None:
        super().__init__()
        if center.ndim != 1 or matrix.ndim != 2 or len(center) != len(matrix):
            raise ValueError(
                f"centre, matrix: got shapes {tuple(center.shape)} and "
                f"{tuple(matrix.shape)}, expected (d,) and (d, k)"
            )
        self.register_buffer("center", center)
        self.register_buffer("matrix", matrix)

    def forward(self, vectors: Tensor) -> Tensor:
        return (vectors - self.center) @ self.matrix


def whitening(vectors: Tensor, k: int | None = None) -> Whitening:
    """Return the map after which vectors (N, d) have mean 0 and the identity as covariance.

        centre = mean of the vectors,  C = (x - centre)^T (x - centre) / N = U diag(s) U^T
        matrix = U diag(1 / sqrt(s)),  its first k columns: the directions of largest s

    k: output dimensions; None: all d. Raises ValueError for k above d or N - 1, and for vectors
    that do not vary in one of these dimensions. Source: Su et al. 2021, algorithm 1.
    """
    if vectors.ndim != 2 or len(vectors) < 2:
        raise ValueError(f"vectors: got shape {tuple(vectors.shape)}, expected (N, d), N > 1")
    n, d = vectors.shape
    n_out = d if k is None else k
    if not 1 <= n_out <= min(d, n - 1):
        raise ValueError(
            f"k: got {n_out} directions for {n} vectors {d} wide, expected 1 to {min(d, n - 1)}; "
            "use a smaller k, or more vectors"
        )
    x = vectors.detach().double()  # small eigenvalues are lost in float32
    center = x.mean(0)
    s, U = torch.linalg.eigh((x - center).T @ (x - center) / n)  # s is ascending
    s, U = s.flip(0)[:n_out], U.flip(1)[:, :n_out]
    if s[-1] <= 1e-12 * s[0]:
        flat = int((s <= 1e-12 * s[0]).sum())
        raise ValueError(
            f"vectors: no variance in {flat} of {n_out} directions; pass k={n_out - flat}"
        )
    return Whitening(center.to(vectors), (U / s.sqrt()).to(vectors))

"""Orthogonal Procrustes alignment of two sets of vectors, such as embeddings of two languages."""

import torch
from torch import Tensor


def procrustes(a: Tensor, b: Tensor) -> Tensor:
    """Return the orthogonal W (d, d) for which a W is nearest to b; rows i of a and b (N, d) are a
    pair:

        W = U V^T,  where  U S V^T = a^T b  (its singular value decomposition)

    the minimizer of sum over i of |a_i W - b_i|^2 with W^T W = 1. It rotates, and may reflect, but
    keeps all distances and cosines within a language. Subtract each side's mean first, because the
    map is linear, without a translation. Raises ValueError for shapes that differ.

    Source: Schoenemann 1966, "A generalized solution of the orthogonal Procrustes problem"; for
    languages Xing et al. 2015 and Smith et al. 2017.
    """
    if a.ndim != 2 or a.shape != b.shape or len(a) == 0:
        raise ValueError(
            f"a, b: got shapes {tuple(a.shape)} and {tuple(b.shape)}, expected equal shapes "
            "(N, d) with one pair per row"
        )
    u, _, v = torch.linalg.svd(a.T @ b)
    return u @ v

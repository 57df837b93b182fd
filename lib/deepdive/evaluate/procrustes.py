"""Two sets of vectors, of two languages: how one is moved onto the other."""

import torch
from torch import Tensor


def procrustes(a: Tensor, b: Tensor) -> Tensor:
    """Return the orthogonal W (d, d) for which a W is nearest to b, rows of a and b (N, d) being
    each other's partners:

        W = U V^T,  where  U S V^T = a^T b  (its singular value decomposition)

    of all W with W^T W = 1 the one with the least sum over i of |a_i W - b_i|^2. It turns, and may
    reflect, but stretches nothing: within a language all distances and cosines stay. Take each
    side's mean off before: the map keeps 0 where it is. Raises ValueError for shapes that differ.

    Source: Schoenemann 1966, "A generalized solution of the orthogonal Procrustes problem"; for
    languages Xing et al. 2015 and Smith et al. 2017.
    """
    if a.ndim != 2 or a.shape != b.shape or len(a) == 0:
        raise ValueError(
            f"a, b: got shapes {tuple(a.shape)} and {tuple(b.shape)}, expected one shape "
            "(N, d), partners in rows"
        )
    u, _, v = torch.linalg.svd(a.T @ b)
    return u @ v

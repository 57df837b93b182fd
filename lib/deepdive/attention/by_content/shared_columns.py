"""CP decomposition of the heads' score matrices into columns shared by all heads."""

import torch
from torch import Tensor

from deepdive.core.checks import not_negative, positive


@torch.no_grad()
def share(
    w_q: Tensor, w_k: Tensor, d_shared: int, *, rounds: int = 20
) -> tuple[Tensor, Tensor, Tensor, float]:
    """Return Q (D, R), K (E, R), M (H, R) and the relative error of

        w_q[h] @ w_k[h]^T  ~  Q @ diag(M[h]) @ K^T        for all heads h, R = d_shared

    for w_q (H, D, d) and w_k (H, E, d): a canonical (CP) decomposition of the (H, D, E) tensor.
    With R >= H d the heads are concatenated, padded by zeros, and the error is 0. Below, the
    start is each head's singular vectors, those with the largest values of all heads
    (`by_head`); `rounds` of alternating least squares follow, each of which can only lower the
    error. The tensor is never formed: its products with the factors cost O(H d R (D + E)).
    Raises ValueError for other shapes, or for R or rounds out of range.
    """
    if w_q.ndim != 3 or w_k.ndim != 3 or w_q.shape[::2] != w_k.shape[::2]:
        raise ValueError(
            f"w_q is (H, D, d) and w_k (H, E, d); got {tuple(w_q.shape)}, {tuple(w_k.shape)}"
        )
    positive(d_shared=d_shared)
    not_negative(rounds=rounds)
    target = side_by_side(w_q, w_k)
    columns = target[0].shape[1]
    if d_shared >= columns:
        extra = d_shared - columns
        q, k, m = (torch.cat([f, f.new_zeros(f.shape[0], extra)], dim=1) for f in target)
        return q, k, m, 0.0
    factors = list(by_head(w_q, w_k, d_shared))
    for _ in range(rounds):
        for i in (2, 0, 1):  # M first: the start is the best Q and K for its own M
            factors[i] = _solve(target, factors, i)
    lengths = [f.norm(dim=0).clamp(min=1e-300) for f in factors]
    mean = (lengths[0] * lengths[1] * lengths[2]) ** (1 / 3)  # columns of one length in all three
    q, k, m = (f * (mean / length) for f, length in zip(factors, lengths, strict=True))
    return q, k, m, relative_error(target, (q, k, m))


def side_by_side(w_q: Tensor, w_k: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the concatenated heads, as factors: Q (D, H d), K (E, H d), M (H, H d) of 0 and 1."""
    H, _, d = w_q.shape
    q, k = (w.transpose(0, 1).flatten(1) for w in (w_q, w_k))
    return q, k, torch.eye(H, dtype=q.dtype, device=q.device).repeat_interleave(d, dim=1)


def by_head(w_q: Tensor, w_k: Tensor, d_shared: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the factors of the best approximation in which no two heads share a column: of all
    heads' singular vectors the `d_shared` with the largest values.
    """
    (a, left), (b, right) = (torch.linalg.qr(w) for w in (w_q, w_k))  # w_q w_k^T = a (l r^T) b^T
    u, sizes, v = torch.linalg.svd(left @ right.mT)
    q, k, m = a @ u, b @ v.mT, side_by_side(w_q, w_k)[2]
    largest = sizes.flatten().topk(d_shared).indices.sort().values
    q, k = (w.transpose(0, 1).flatten(1)[:, largest] for w in (q, k))
    return q * sizes.flatten()[largest], k, m[:, largest]


def relative_error(target: tuple[Tensor, ...], approximation: tuple[Tensor, ...]) -> float:
    """Return |G - F| / |G| for two tensors in factored form (Frobenius norms)."""
    total = _inner(target, target)
    difference = total - 2 * _inner(target, approximation) + _inner(approximation, approximation)
    return (difference.clamp(min=0) / total).sqrt().item()


def _inner(a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
    """The inner product of two tensors: sum_{r,s} prod_i <a_i[:, r], b_i[:, s]>."""
    return torch.stack([x.T @ y for x, y in zip(a, b, strict=True)]).prod(0).sum()


def _solve(target: tuple[Tensor, ...], factors: list[Tensor], i: int) -> Tensor:
    """Return the factor i that is best for the other two: a least squares problem."""
    others = [j for j in range(3) if j != i]
    products = torch.stack([target[j].T @ factors[j] for j in others]).prod(0)  # (H d, R)
    gram = torch.stack([factors[j].T @ factors[j] for j in others]).prod(0)  # (R, R)
    gram.diagonal().add_(1e-12 * gram.diagonal().mean())  # columns may repeat each other
    return torch.linalg.solve(gram, (target[i] @ products).T).T

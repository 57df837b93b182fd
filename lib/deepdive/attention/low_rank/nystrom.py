"""Nystrom attention: a low-rank approximation from a few landmarks. Xiong et al. 2021,
"Nystromformer: A Nystrom-Based Algorithm for Approximating Self-Attention".
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.core.checks import not_negative, positive
from deepdive.core.masks import Padding


def by_head(A: Tensor) -> Tensor:
    """Return the largest column sum of each matrix (B, H, 1, 1).

    |A|_1 |A|_inf bounds the square of A's largest singular value, and |A|_inf, the largest row sum,
    is 1 here. Source: Xiong et al. 2021, section 3.
    """
    return A.sum(-2).amax(-1)[..., None, None]


def by_batch(A: Tensor) -> Tensor:
    """Return the largest column sum of all matrices of the batch, as the published models do: the
    output for one text then depends, a little, on the others in the batch.
    """
    return A.sum(-2).amax()


def pseudo_inverse(
    A: Tensor, iterations: int = 6, start: Callable[[Tensor], Tensor] = by_head
) -> Tensor:
    """Approximate the Moore-Penrose inverse of A (..., m, m), whose rows sum to 1 or are 0.

        Z_0 = A^T / start(A);  Z = Z / 4 @ (13 I - A Z (15 I - A Z (7 I - A Z)))

    Only products, so it runs, and is differentiated, as a batch. A singular value s of A and its
    inverse z in Z with s z near 0 give z a factor of 13 / 4 an iteration, until s z is near 1. So
    a matrix with small s needs more iterations, and where s is 0 in all but rounding, each
    iteration makes what rounding left 13 / 4 times larger: more is then worse.
    Source: Xiong et al. 2021, section 3, after Razavi et al. 2014.
    """
    eye = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    Z = A.transpose(-2, -1) / start(A).clamp(min=torch.finfo(A.dtype).tiny)
    for _ in range(iterations):
        AZ = A @ Z
        Z = 0.25 * Z @ (13 * eye - AZ @ (15 * eye - AZ @ (7 * eye - AZ)))
    return Z


class NystromAttention(StructuredAttention):
    """Softmax attention approximated through n_landmarks landmark queries and keys.

        q_land, k_land = means of n_landmarks segments of q and of k       # (B, H, m, d)
        output = softmax(q k_land^T) pinv(softmax(q_land k_land^T)) softmax(q_land k^T) v

    Each softmax is of scaled scores, over the last axis. The real tokens, in their order, are cut
    into n_landmarks segments of equal size (sizes differ by one where that does not go); a text
    with fewer tokens has as many landmarks as tokens. With at most n_landmarks tokens no estimate
    is needed, and softmax attention itself is computed. `convolution` adds a sum of nearby values.

    Weights may be negative, and their rows need not sum to 1. None of size T x S is computed.

    Honours `Padding`: a padded text is what it is alone. Self-attention only: T = S, and padding is
    that of the queries too, since their means are landmarks. Refuses `Causal` and every other mask,
    since a landmark is a mean over all positions, and a bias.

    Raises ValueError when n_landmarks is below 1, or iterations negative.
    Source: Xiong et al. 2021, section 3.
    """

    honors = (Padding,)
    queries = "all"

    def __init__(
        self,
        n_landmarks: int,
        *,
        iterations: int = 6,
        start: Callable[[Tensor], Tensor] = by_head,
        convolution: ValueConvolution | None = None,
    ) -> None:
        super().__init__()
        positive(n_landmarks=n_landmarks)
        not_negative(iterations=iterations)
        self.n_landmarks, self.iterations, self.start = n_landmarks, iterations, start
        self.convolution = convolution

    def extra_repr(self) -> str:
        return f"n_landmarks={self.n_landmarks}, iterations={self.iterations}"

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        if self.n_landmarks >= k.shape[2]:
            mixed = _attend(q, k, v, real, scale)
        else:
            q_land, k_land, used = self.landmarks(q, k, real)
            eye = torch.eye(k_land.shape[2], dtype=k.dtype, device=k.device)
            A = _attend(q_land, k_land, eye.expand(*k.shape[:2], *eye.shape), used, scale)
            if used is not None:
                A = A * used[:, None, :, None]
            Z = pseudo_inverse(A, self.iterations, self.start)
            values = Z @ _attend(q_land, k, v, real, scale)
            if real is not None:  # in a short text each landmark is one token: this is exact
                short = real.sum(1)[:, None, None, None] <= self.n_landmarks
                values = torch.where(short, self.landmarks(k, v, real)[1], values)
            mixed = _attend(q, k_land, values, used, scale)
        return mixed if self.convolution is None else mixed + self.convolution(v, real)

    def landmarks(
        self, q: Tensor, k: Tensor, real: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the landmarks (B, H, m, d) of q and of k (B, H, S, d), and which of them have a
        token, bool (B, m), None = all. `real` bool (B, S), None = all.
        """
        S, m = k.shape[2], self.n_landmarks
        if real is None and S % m == 0:
            return q.unflatten(2, (m, S // m)).mean(3), k.unflatten(2, (m, S // m)).mean(3), None
        is_real = all_real(real, k)
        rank = is_real.cumsum(1) - 1  # among the real tokens
        segment = rank * m // is_real.sum(1, keepdim=True).clamp(min=1)
        inside = (segment.unsqueeze(1) == torch.arange(m, device=k.device).unsqueeze(1)) & (
            is_real.unsqueeze(1)
        )  # (B or 1, m, S)
        size = inside.sum(-1, keepdim=True)
        mean = (inside / size.clamp(min=1)).to(k.dtype).unsqueeze(1)
        used = None if real is None else size.squeeze(-1) > 0
        return mean @ q, mean @ k, used


def _attend(q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, scale: float) -> Tensor:
    """Return softmax(scale q k^T) v over the real keys, fused; 0 where there is none."""
    allowed = None if real is None else real[:, None, None, :].expand(-1, -1, q.shape[2], -1)
    return F.scaled_dot_product_attention(q, k, v, allowed, scale=scale)

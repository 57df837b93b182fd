"""Performer (FAVOR+): random features whose products estimate the weights of softmax attention.
Choromanski et al. 2021, "Rethinking Attention with Performers".
"""

import torch
from torch import Tensor

from deepdive._fast.kernel import exp_difference, in_parts
from deepdive.attention.low_rank.kernel import LinearAttention
from deepdive.attention.low_rank.resampled_features import ResampledBuffer
from deepdive.core.checks import positive
from deepdive.core.softmax import SoftmaxAttention


def orthogonal(n: int, d: int) -> Tensor:
    """Return n directions (n, d): normal vectors, each d of them orthogonal to each other.

    Each row alone is distributed as d normal numbers. The sign of R's diagonal makes Q uniform
    over all rotations: without it the features below have a bias, which no number of them removes.
    Source: Choromanski et al. 2021, section 2.4; the sign: Mezzadri 2007, "How to generate random
    matrices from the classical compact groups".
    """
    Q, R = torch.linalg.qr(torch.randn(-(-n // d), d, d))
    Q = Q * R.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
    return Q.transpose(-2, -1).flatten(0, 1)[:n] * torch.randn(n, d).norm(dim=1, keepdim=True)


class PerformerAttention(ResampledBuffer, LinearAttention):
    """Linear attention with positive random features of the softmax kernel (FAVOR+).

        phi(x) = exp(W @ x - |x|^2 / 2) / sqrt(n_features),  E[phi(x) . phi(y)] = exp(x . y)

    x and y are q and k, each times sqrt(scale); W (n_features, d_head) are `orthogonal` directions,
    a buffer `drawn`, resampled before every `redraw_every`-th call in training. The error of a
    weight falls as 1 / sqrt(n_features), and grows exponentially with |x + y|^2.

    The features of a query may be divided by any number, those of all keys by another: the
    largest of each becomes 1, so that nothing overflows, and |q|^2 / 2 falls out. A feature of a
    key that is below the head's largest by the range of the dtype (e^87 in float32) counts as 0.

    Raises ValueError when a size is below 1, or scale is negative.
    Source: Choromanski et al. 2021, section 2.3, lemma 1; section 2.4.

    System: performer
    Parent: transformer
    What differs:
    - a weight is estimated by a product of positive random features (`of_keys`), so that keys and
      values are summed once for all queries (`LinearAttention`)
    - the directions are orthogonal (`orthogonal`), and resampled in training (`redraw_every`)
    - causal attention is a cumulative sum over chunks (`chunk`)
    Source: Choromanski et al. 2021, section 2.
    Book: 5.2.2.3
    """

    d_head: int

    def __init__(
        self, d_head: int, n_features: int, *, redraw_every: int = 1000, chunk: int = 128
    ) -> None:
        super().__init__(chunk)
        positive(d_head=d_head, n_features=n_features)
        self._start(redraw_every)
        self.d_head, self.n_features = d_head, n_features
        self.register_buffer("drawn", self.draw())

    def extra_repr(self) -> str:
        return f"d_head={self.d_head}, n_features={self.n_features}, {super().extra_repr()}"

    def draw(self) -> Tensor:
        """Return fresh directions (n_features, d_head)."""
        return orthogonal(self.n_features, self.d_head)

    @staticmethod
    def default_scale(d_head: int) -> float:
        """Return 1 / sqrt(d_head), that of softmax attention."""
        return SoftmaxAttention.default_scale(d_head)

    def shared(self, q: Tensor, k: Tensor, scale: float, real: Tensor | None) -> Tensor:
        """Return the largest exponent of each head's real keys, (B, H, 1, 1)."""
        if scale < 0:
            raise ValueError(f"scale={scale}: expected 0 or more, for its root; negate q instead")
        self._count()
        with torch.no_grad():
            tops = [
                self._exponents(*part, scale).amax((-2, -1), keepdim=True)
                for part in in_parts(k, real)
            ]
            return torch.stack(tops).amax(0).clamp(min=torch.finfo(k.dtype).min)

    def of_queries(self, q: Tensor, scale: float) -> Tensor:
        """Return phi of q (B, H, T, m), up to a factor for each query."""
        exponents = q @ self._directions(scale)
        return exp_difference(exponents, exponents.detach().amax(-1, keepdim=True))

    def of_keys(
        self, k: Tensor, real: Tensor | None, scale: float, shared: Tensor | None
    ) -> Tensor:
        """Return phi of k (B, H, S, m), up to one factor for all keys of a head, `shared`."""
        assert shared is not None
        return exp_difference(self._exponents(k, real, scale), shared)

    def _exponents(self, k: Tensor, real: Tensor | None, scale: float) -> Tensor:
        exponents = k @ self._directions(scale)
        exponents -= (scale / 2) * (k * k).sum(-1, keepdim=True)
        if real is not None:  # padding must not scale the others
            exponents.masked_fill_(~real[:, None, :, None], -torch.inf)
        return exponents

    def _directions(self, scale: float) -> Tensor:
        return scale**0.5 * self.drawn.transpose(0, 1)

"""YOSO: a weight is the probability that query and key share a hash bucket. Zeng et al. 2021,
"You Only Sample (Almost) Once: Linear Cost Self-Attention Via Bernoulli Sampling".
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive._fast.yoso import Sampled
from deepdive.attention.low_rank.resampled_features import ResampledBuffer
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.attention.structure import StructuredAttention, all_real, read_mask
from deepdive.core.checks import positive
from deepdive.core.masks import Causal, Mask, Padding
from deepdive.core.mechanism import Mechanism


class BoundedSlope(torch.autograd.Function):
    """output = weights @ v, for the weights (B, H, T, S) of unit queries and keys.

    The derivative of a weight by q . k, of the expected one, is unbounded as q . k -> 1, and a
    sampled one has none. Backward puts bits / 2 * weight in its place, the former's lower bound.
    Source: Zeng et al. 2021, section 3.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, weights: Tensor, bits: int) -> Tensor:
        """Return (B, H, T, d_v)."""
        ctx.save_for_backward(weights, q, k, v)
        ctx.bits = bits
        return weights @ v

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of q, k and v."""
        (grad,) = grads
        weights, q, k, v = ctx.saved_tensors
        slope = ctx.bits / 2 * weights * (grad @ v.mT)
        return slope @ k, slope.mT @ q, weights.mT @ grad, None, None


def collision(cosine: Tensor, bits: int) -> Tensor:
    """Return the collision probability (1 - acos(cosine) / pi)^bits: `bits` random hyperplanes all
    have two directions on one side.
    """
    return (1 - torch.acos(cosine.clamp(-1, 1)) / math.pi) ** bits


class ExpectedYosoAttention(Mechanism):
    """YOSO's weights in expectation, at full cost.

        weights = (1 - acos(cos(q, k)) / pi)^bits            # (B, H, T, S), in 0 .. 1
        output  = unit(weights @ v) + convolution(v)         # unit: of length 1

    Weights do not sum to 1; the output is divided by its length instead. The length of a query or
    key has no effect, so a scale has none either: it is refused. Honours every mask; a query with
    no key has output 0. Refuses a bias. Backward uses the paper's `BoundedSlope`, not the
    derivative. `convolution` adds a sum of nearby values.

    Raises ValueError when bits is below 1.
    Source: Zeng et al. 2021, section 3.
    """

    takes_bias = False
    takes_scale = False

    def __init__(self, bits: int = 9, *, convolution: ValueConvolution | None = None) -> None:
        super().__init__()
        positive(bits=bits)
        self.bits, self.convolution = bits, convolution

    def extra_repr(self) -> str:
        return f"bits={self.bits}"

    def compute(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: Tensor | None, scale: float
    ) -> Tensor:
        allowed = self.allowed(mask, q, k)
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        with torch.no_grad():
            weights = collision(q @ k.mT, self.bits)  # (B, H, T, S)
            weights = weights if allowed is None else weights.masked_fill(~allowed, 0.0)
        mixed: Tensor = BoundedSlope.apply(q, k, v, weights, self.bits)  # type: ignore[no-untyped-call]
        mixed = F.normalize(mixed, dim=-1)
        if self.convolution is None:
            return mixed
        return mixed + self.convolution(v, read_mask(mask, k, "a convolution of values")[0])


class YosoAttention(ResampledBuffer, StructuredAttention):
    """YOSO's weights, sampled: the fraction of n_hashes random hashes in which q and k collide.

        weights = fraction of the hashes in which buckets(q) = buckets(k)          # (B, H, T, S)
        output  = unit(weights @ v) + convolution(v)

    A hash has `bits` random planes, hence 2^bits buckets. In `fast`, for each hash the values are
    summed by bucket, and a query gathers one sum: T + S vectors per hash, and nothing of size
    T x S. Causally it gathers the sum up to its position, from running sums. The expectation is
    `ExpectedYosoAttention`; the error falls as 1 / sqrt(n_hashes). Backward samples too, with the
    same buckets and the `BoundedSlope`; in `fast` it costs at most 16 d times the forward pass.

    The planes are in `drawn`, and resampled before every `redraw_every`-th call in training.
    Honours `Padding` and `Causal`, with a convolution of values `Padding` alone, since it adds
    values that come later. Refuses every other mask, a bias and a scale. Not as in the paper, which
    has no causal form: the running sums.

    Raises ValueError when a size is below 1.
    Source: Zeng et al. 2021, section 3.

    System: yoso
    Parent: transformer
    What differs:
    - a weight is the probability that random planes have query and key on one side
      (`ExpectedYosoAttention`), a power of their angle instead of a softmax
    - it is sampled by hashing into buckets, whose values are summed (`Sampled`)
    - no sum of weights divides the output; it is normalized to length 1 (`unit`)
    - the gradient is that of a lower bound of the weight's slope, sampled too
    Source: Zeng et al. 2021.
    Book: blog
    """

    d_head: int
    queries = "last if causal"
    takes_scale = False

    def __init__(
        self,
        d_head: int,
        bits: int = 9,
        n_hashes: int = 32,
        *,
        redraw_every: int = 1,
        convolution: ValueConvolution | None = None,
    ) -> None:
        super().__init__()
        positive(d_head=d_head, bits=bits, n_hashes=n_hashes)
        if bits > 20:
            raise ValueError(f"bits={bits}: 2^bits buckets must fit into memory; use 20 at most")
        self._start(redraw_every)
        self.d_head, self.bits, self.n_hashes = d_head, bits, n_hashes
        self.convolution = convolution
        self.honors = (Causal, Padding) if convolution is None else (Padding,)
        self.register_buffer("drawn", self.draw())

    def extra_repr(self) -> str:
        return f"d_head={self.d_head}, bits={self.bits}, n_hashes={self.n_hashes}"

    def draw(self) -> Tensor:
        """Return fresh planes (d_head, n_hashes * bits)."""
        return torch.randn(self.d_head, self.n_hashes * self.bits)

    def buckets(self, x: Tensor) -> Tensor:
        """Return the bucket of each vector of x (B, H, T, d_head), for each hash: integers
        (n_hashes, B, H, T).
        """
        side = (x @ self.drawn > 0).unflatten(-1, (self.n_hashes, self.bits))
        powers = 2 ** torch.arange(self.bits, device=x.device)
        return (side * powers).sum(-1).movedim(-1, 0)

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        self._count()
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        with torch.no_grad():
            same = self.buckets(q).unsqueeze(-1) == self.buckets(k).unsqueeze(-2)
            weights = same.to(v.dtype).mean(0) * all_real(real, k)[:, None, None]
            weights = weights.tril(k.shape[2] - q.shape[2]) if causal else weights
        mixed = BoundedSlope.apply(q, k, v, weights, self.bits)  # type: ignore[no-untyped-call]
        return self._finished(mixed, v, real)

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        self._count()
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        with torch.no_grad():
            to, of = self.buckets(q), self.buckets(k)
        keys = all_real(real, k)[:, None].expand(k.shape[:3])
        mixed = Sampled.apply(q, k, v, to, of, keys, self.bits, causal)  # type: ignore[no-untyped-call]
        return self._finished(mixed, v, real)

    def _finished(self, mixed: Tensor, v: Tensor, real: Tensor | None) -> Tensor:
        """Return the output normalized to length 1, plus the convolution of the values."""
        mixed = F.normalize(mixed, dim=-1)
        return mixed if self.convolution is None else mixed + self.convolution(v, real)

"""YOSO: a weight is the chance that a query and a key fall into the same bucket. Zeng et al. 2021,
"You Only Sample (Almost) Once: Linear Cost Self-Attention Via Bernoulli Sampling".
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.low_rank.redrawn import Redrawn
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.attention.mechanism import Mechanism
from deepdive.attention.structure import StructuredAttention, all_real, read_mask
from deepdive.checks import positive
from deepdive.fast.yoso_sampled import Sampled
from deepdive.masks import Mask, Padding


class Expected(torch.autograd.Function):
    """weights = (1 - acos(q . k) / pi)^bits where allowed, output = weights @ v, for unit q, k.

    The derivative of a weight is unbounded as q . k -> 1. Backward puts bits / 2 * weight in its
    place, its lower bound. Source: Zeng et al. 2021, section 3.
    """

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, bits: int
    ) -> Tensor:
        """Return (B, H, T, d_v)."""
        weights = collision(q @ k.transpose(-2, -1), bits)
        if allowed is not None:
            weights = weights.masked_fill(~allowed, 0.0)
        ctx.save_for_backward(weights, q, k, v)
        ctx.bits = bits
        return weights @ v

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of q, k and v."""
        (grad,) = grads
        weights, q, k, v = ctx.saved_tensors
        slope = ctx.bits / 2 * weights * (grad @ v.transpose(-2, -1))
        return slope @ k, slope.transpose(-2, -1) @ q, weights.transpose(-2, -1) @ grad, None, None


def collision(cosine: Tensor, bits: int) -> Tensor:
    """Return the chance (1 - acos(cosine) / pi)^bits that `bits` random planes all leave two
    directions on one side.
    """
    return (1 - torch.acos(cosine.clamp(-1, 1)) / math.pi) ** bits


class ExpectedYosoAttention(Mechanism):
    """The weights that YOSO samples, in expectation, written out at full cost.

        weights = (1 - acos(cos(q, k)) / pi)^bits            # (B, H, T, S), in 0 .. 1
        output  = unit(weights @ v) + convolution(v)         # unit: of length 1

    Weights do not sum to 1; the mixed values are divided by their length instead. The length of a
    query or key has no part, so neither has the scale: it is refused. Honours every mask; a row
    with no key is 0. Refuses a bias. Backward uses the paper's bounded slope (`Expected`), not the
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
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Mask | None,
        bias: Tensor | None,
        scale: float,
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v)."""
        allowed = self.allowed(mask, q, k)
        unit_q, unit_k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        mixed: Tensor = Expected.apply(  # type: ignore[no-untyped-call]
            unit_q, unit_k, v, allowed, self.bits
        )
        mixed = F.normalize(mixed, dim=-1)
        if self.convolution is None:
            return mixed
        return mixed + self.convolution(v, read_mask(mask, k, "a convolution of values")[0])


class YosoAttention(Redrawn, StructuredAttention):
    """YOSO's weights, sampled: the share of n_hashes random hashes in which query and key agree.

        output = unit(sum over hashes, and keys in the query's bucket, of v) + convolution(v)

    A hash has `bits` random planes, hence 2^bits buckets. For each hash the values are added up by
    bucket, and a query reads one sum: T + S rows a hash, and nothing of size T x S. The expectation
    is `ExpectedYosoAttention`; the error falls as 1 / sqrt(n_hashes). Backward samples too, with
    the same buckets and the slope bits / 2 (`Sampled`); it costs at most 16 d times the forward
    pass.

    The planes are in `drawn`, and drawn anew before every `redraw_every`-th call in training.
    Honours `Padding`; refuses `Causal` (a bucket's sum has no order) and every other mask, a bias
    and a scale.

    Raises ValueError when a size is below 1.
    Source: Zeng et al. 2021, section 3.

    System: yoso
    Parent: transformer
    What differs:
    - a weight is the chance that random planes leave query and key on one side
      (`ExpectedYosoAttention`), a power of their angle in place of a softmax
    - it is sampled by hashing into buckets, whose values are added up (`Sampled`)
    - no sum of weights divides the output; it is brought to length 1 (`unit`)
    - the gradient is that of a lower bound of the weight's slope, sampled too
    Source: Zeng et al. 2021.
    Book: blog
    """

    d_head: int
    honours = (Padding,)
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
            raise ValueError(f"bits={bits}: 2^bits buckets must fit into memory; give 20 at most")
        self._start(redraw_every)
        self.d_head, self.bits, self.n_hashes = d_head, bits, n_hashes
        self.convolution = convolution
        self.register_buffer("drawn", self.draw())

    def extra_repr(self) -> str:
        return f"d_head={self.d_head}, bits={self.bits}, n_hashes={self.n_hashes}"

    def draw(self) -> Tensor:
        """Return fresh planes (d_head, n_hashes * bits)."""
        return torch.randn(self.d_head, self.n_hashes * self.bits)

    def buckets(self, rows: Tensor) -> Tensor:
        """Return which bucket each of the rows (B, H, T, d_head) falls into, by hash: integers
        (n_hashes, B, H, T).
        """
        side = (rows @ self.drawn > 0).unflatten(-1, (self.n_hashes, self.bits))
        powers = 2 ** torch.arange(self.bits, device=rows.device)
        return (side * powers).sum(-1).movedim(-1, 0)

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v)."""
        self._count()
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        with torch.no_grad():
            to, of = self.buckets(q), self.buckets(k)
        keys = all_real(real, k)[:, None].expand(k.shape[:3])
        mixed: Tensor = Sampled.apply(  # type: ignore[no-untyped-call]
            q, k, v, to, of, keys, self.bits
        )
        mixed = F.normalize(mixed, dim=-1)
        return mixed if self.convolution is None else mixed + self.convolution(v, real)

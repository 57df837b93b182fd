"""Scaled dot-product attention: score, weigh, mix, step by step and in one fused kernel."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import numbers
from deepdive.core.hooks import HookPoint
from deepdive.core.masks import Mask
from deepdive.core.mechanism import Mechanism
from deepdive.core.packed_sequences import PackedSequences, per_sequence


class SoftmaxAttention(Mechanism):
    """Scaled dot-product attention, and the base class of those that change one of its steps.

        scores  = scale * q @ k.transpose(-2, -1) + bias       # (B, H, T, S)
        weights = softmax(scores where the mask allows)         # (B, H, T, S), float32
        output  = weights @ v                                   # (B, H, T, d_v)

    A variant overrides one of the steps `score`, `weigh`, `mix`, or `compute`. While `scores` or
    `weights` has a hook, and while dropout acts on a CPU, the steps run one by one; otherwise the
    three are one call of `F.scaled_dot_product_attention`. The two agree to rounding (under
    dropout, in distribution).
    A query with no allowed key, or none whose bias is above minus infinity, has weights and output
    exactly 0 in both, and finite gradients.

    System: scaled_dot_attention
    Parent: dot_attention
    What differs:
    - the scores are divided by sqrt(d_head) (`scale`), so that their variance does not grow with it
    - each step can be replaced separately (`score`, `weigh`, `mix`); unchanged, they run as one
      kernel (`fused`)
    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1, equation 1.
    Book: 2.3.2.2
    """

    fused = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A class that overrides a step has no fused form unless it sets `fused` itself."""
        super().__init_subclass__(**kwargs)
        if "fused" not in cls.__dict__ and {"score", "weigh", "mix"} & set(cls.__dict__):
            cls.fused = False

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        numbers(0.0, 1.0, dropout=dropout)
        self.scores = HookPoint()
        self.weights = HookPoint()
        self.dropout = nn.Dropout(dropout)

    def compute(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: Tensor | None, scale: float
    ) -> Tensor:
        if isinstance(mask, PackedSequences) and bias is None and not self.listening:

            def alone(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                return self.compute(q, k, v, None, None, scale)

            return per_sequence(alone, q, k, v, mask)
        return self.steps(q, k, v, self.allowed(mask, q, k), bias, scale)

    def steps(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        allowed: Tensor | None,
        bias: Tensor | None,
        scale: float,
    ) -> Tensor:
        """Return the output of the three steps; `allowed`: bool, broadcast to (B, H, T, S)."""
        if self.fused and not (self.listening or self.drops_on_cpu(q)):
            return self.in_one_call(q, k, v, allowed, bias, scale)
        scores, allowed = biased(self.score(q, k, scale), allowed, bias)
        weights = self.weights(self.weigh(self.scores(scores), allowed))
        return self.mix(self.dropout(weights), v)

    @property
    def listening(self) -> bool:
        return self.scores.listening or self.weights.listening

    @property
    def dropped(self) -> float:
        """The dropout probability: 0 outside training."""
        return self.dropout.p if self.training else 0.0

    def drops_on_cpu(self, q: Tensor) -> bool:
        """Whether dropout acts on a CPU, where the fused kernel only runs the same steps, with a
        slower dropout.
        """
        return self.dropped > 0 and q.device.type == "cpu"

    def score(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        """Return scale * q @ k^T, (B, H, T, S)."""
        return (scale * q) @ k.transpose(-2, -1)

    def weigh(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        """Return the softmax of `scores` over the allowed keys, in float32 at least, 0 for a query
        with none.
        """
        precise = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
        if allowed is None:
            return precise.softmax(-1).to(scores.dtype)
        # The lowest number instead of -inf: a query with no key then has finite gradients. The
        # second fill zeroes it.
        lowest = torch.finfo(precise.dtype).min
        weights = precise.masked_fill(~allowed, lowest).softmax(-1).masked_fill(~allowed, 0.0)
        return weights.to(scores.dtype)

    def mix(self, weights: Tensor, v: Tensor) -> Tensor:
        """Return weights @ v, (B, H, T, d_v)."""
        return weights @ v

    def in_one_call(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        allowed: Tensor | None,
        bias: Tensor | None,
        scale: float,
    ) -> Tensor:
        """Return the output of the three steps from torch's fused kernel."""
        if bias is not None:
            allowed = bias if allowed is None else bias.masked_fill(~allowed, float("-inf"))
        return F.scaled_dot_product_attention(q, k, v, allowed, self.dropped, scale=scale)


def biased(
    scores: Tensor, allowed: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return the scores plus the bias, and `allowed` without the pairs whose bias is minus
    infinity: a query with only such pairs then has no key, and no NaN.
    """
    if bias is None:
        return scores, allowed
    finite = bias != float("-inf")
    if finite.all():  # the usual case: no score needs filling
        return scores + bias, allowed
    return scores + bias, finite if allowed is None else allowed & finite

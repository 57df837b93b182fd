"""Softmax attention, the exact mechanism: score, weigh, mix, step by step and in one fused
kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention.mechanism import Mechanism
from deepdive.attention.texts import Texts, each_text
from deepdive.fast.dropout import Dropout
from deepdive.inspect import HookPoint, record
from deepdive.laws import Case, case, random_rows
from deepdive.masks import Causal, Mask, Padding


class SoftmaxAttention(Mechanism):
    """Scaled dot-product attention, and the base class of those that change one of its steps.

        scores  = scale * q @ k.transpose(-2, -1) + bias       # (B, H, T, S)
        weights = softmax(scores where the mask allows)         # (B, H, T, S), float32
        output  = weights @ v                                   # (B, H, T, d_v)

    A variant overrides one of the steps `score`, `weigh`, `mix`, or `compute`. While a hook
    listens at `scores` or `weights`, and while dropout acts on a CPU, the steps run one by one;
    otherwise the three are one call of `F.scaled_dot_product_attention`. The two agree to rounding
    (under dropout, in distribution).
    A row with no allowed key, or none whose bias is above minus infinity, has weights and output
    exactly 0 in both, and finite gradients.

    System: scaled_dot_attention
    Parent: dot_attention
    What differs:
    - the scores are divided by sqrt(d_head) (`scale`), so that their variance does not grow with it
    - each step can be replaced alone (`score`, `weigh`, `mix`); unchanged, all run as one (`fused`)
    Time: O(S d_head)
    Memory: O(S)
    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1, equation 1.
    Book: 2.3.2.2
    Page: 02_transformer/02_attention#why-the-square-root
    Oracle: torch.nn.functional.scaled_dot_product_attention
    Checkpoints: none
    """

    fused = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A class that changes a step has no fused form unless it says so itself."""
        super().__init_subclass__(**kwargs)
        if "fused" not in cls.__dict__ and {"score", "weigh", "mix"} & set(cls.__dict__):
            cls.fused = False

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.scores = HookPoint()
        self.weights = HookPoint()
        self.dropout = Dropout(dropout)

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
        if isinstance(mask, Texts) and bias is None and not self._listening:

            def alone(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                return self.compute(q, k, v, None, None, scale)

            return each_text(alone, q, k, v, mask)
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
        """Return what the three steps make; `allowed` bool, broadcasting to (B, H, T, S)."""
        if self.fused and not (self._listening or self._drops(q)):
            return self._fused(q, k, v, allowed, bias, scale)
        scores, allowed = biased(self.score(q, k, scale), allowed, bias)
        weights = self.weights(self.weigh(self.scores(scores), allowed))
        return self.mix(self.dropout(weights), v)

    @property
    def _listening(self) -> bool:
        return self.scores.listening or self.weights.listening

    def _drops(self, q: Tensor) -> bool:
        """Whether weights are dropped where the fused kernel only runs the same steps, with a
        slower dropout: on a CPU.
        """
        return self.training and self.dropout.p > 0 and q.device.type == "cpu"

    def score(self, q: Tensor, k: Tensor, scale: float) -> Tensor:
        """Return scale * q @ k^T, (B, H, T, S)."""
        return (scale * q) @ k.transpose(-2, -1)

    def weigh(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        """Return the softmax of `scores` over the allowed keys, in float32 at least, 0 for a row
        with none.
        """
        precise = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
        if allowed is None:
            return precise.softmax(-1).to(scores.dtype)
        # The lowest number instead of -inf: a row with no key then has finite gradients. The
        # second fill zeroes it.
        lowest = torch.finfo(precise.dtype).min
        weights = precise.masked_fill(~allowed, lowest).softmax(-1).masked_fill(~allowed, 0.0)
        return weights.to(scores.dtype)

    def mix(self, weights: Tensor, v: Tensor) -> Tensor:
        """Return weights @ v, (B, H, T, d_v)."""
        return weights @ v

    def _fused(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        allowed: Tensor | None,
        bias: Tensor | None,
        scale: float,
    ) -> Tensor:
        if bias is not None:
            allowed = bias if allowed is None else bias.masked_fill(~allowed, float("-inf"))
        p = self.dropout.p if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, dropout_p=p, scale=scale)


def biased(
    scores: Tensor, allowed: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return the scores with the bias added, and what is allowed: not where it is minus infinity,
    so that a row of that alone is one without a key, and not NaN.
    """
    if bias is None:
        return scores, allowed
    finite = bias != float("-inf")
    if finite.all():  # as most are: then no score need be filled
        return scores + bias, allowed
    return scores + bias, finite if allowed is None else allowed & finite


def mechanism_case(mechanism: Callable[[], nn.Module], **more: Any) -> Case:
    """Return the case of a mechanism for 4 heads of width 4, with what every mechanism refuses."""
    zeros = [torch.zeros(1, 4, 3, 4)] * 3
    refusals = {
        "a mask of floats": lambda: mechanism()(*zeros, mask=torch.zeros(3, 3)),
        "a mask for other keys": lambda: mechanism()(*zeros, mask=torch.ones(2, 7).bool()),
        "a bias of bools": lambda: mechanism()(*zeros, bias=torch.ones(3, 3).bool()),
        "three axes": lambda: mechanism()(zeros[0][0], *zeros[1:]),
        "other heads": lambda: mechanism()(torch.zeros(1, 3, 3, 4), *zeros[1:]),
        "two dtypes": lambda: mechanism()(zeros[0].double(), *zeros[1:]),
    }
    declared: dict[str, Any] = {
        "place": "mechanism",
        "make": mechanism,
        "parity": "torch.nn.functional.scaled_dot_product_attention",
        "refusals": refusals | more.pop("refusals", {}),
    }
    return Case(**declared | more)


@case(SoftmaxAttention)
def _() -> Case:
    q, k, v = (random_rows(2, 2, 5, 4, seed=seed) for seed in range(3))

    def explicit() -> tuple[Tensor, Tensor]:
        attention, bias = SoftmaxAttention(), random_rows(2, 2, 5, 5)
        mask = Causal() & Padding(torch.tensor([[0, 1, 1, 1, 1], [0, 0, 0, 0, 0]]).bool())
        fused = attention(q, k, v, mask, bias)
        with record(attention, "weights"):
            return attention(q, k, v, mask, bias), fused

    return mechanism_case(
        SoftmaxAttention,
        limits={
            "the steps one by one: the fused kernel": explicit,
            "scale 0: the mean": lambda: (
                SoftmaxAttention()(q, k, v, scale=0.0),
                v.mean(2, keepdim=True).expand_as(v),
            ),
            "one key: its value": lambda: (
                SoftmaxAttention()(q, k[:, :, :1], v[:, :, :1]),
                v[:, :, :1].expand_as(q),
            ),
        },
    )

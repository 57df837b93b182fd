"""Adaptive attention span: each head learns how far back it attends, under a penalty."""

import torch
from torch import Tensor, nn

from deepdive._fast.adaptive_span import stretches
from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.core.checks import positive
from deepdive.core.hooks import LossPoint
from deepdive.core.softmax import SoftmaxAttention


class AdaptiveSpanAttention(StructuredAttention, SoftmaxAttention):
    """Causal attention whose weights fall off at a learned distance, its own for each head.

        z = longest * sigmoid(span)                                # (H,), learned
        ramp(x) = clamp((ramp + z - x) / ramp, 0, 1)               # x = t - s >= 0, how far behind
        weights = ramp * exp(scores) / sum(ramp * exp(scores))
        loss = penalty * mean(z)                                   # through `span_loss`

    No key beyond x = z + ramp of the longest head is attended to, so short spans save time and
    memory: in `fast` blocks of queries attend to one range of keys. Causal by itself; honors
    `Causal` and `Padding`.
    The paper keeps z in [0, longest] by clipping, where a gradient ends; a sigmoid does not end it.

    Hook points: `scores` and `weights` (B, H, T, S), computed at full cost while one has a hook,
    the scores with log(ramp) added; `span_loss`, a scalar (`deepdive.core.hooks.collect_losses`).

    Raises ValueError for sizes out of range, and for another number of heads.
    Source: Sukhbaatar et al. 2019, section 2.

    System: adaptive_span
    Parent: multi_head
    What differs:
    - each head has a length z (`span`), learned with the rest, beyond which its weights fall to 0
    - on a ramp (`ramp`), so that z has a gradient
    - the loss grows with the mean of z (`span_loss`, `penalty`)
    - keys beyond the longest head's reach are not computed (`reach`)
    Source: Sukhbaatar et al. 2019, section 2.
    Book: 1.2.1.2
    """

    def __init__(
        self,
        n_heads: int,
        longest: int,
        *,
        ramp: int = 32,
        penalty: float = 2e-6,
        start: float = 0.5,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dropout)
        positive(n_heads=n_heads, longest=longest, ramp=ramp)
        if not 0 < start < 1:
            raise ValueError(f"start={start}: expected a fraction of `longest`, between 0 and 1")
        self.n_heads = n_heads
        self.longest, self.ramp, self.penalty, self.start = longest, ramp, penalty, start
        self.span = nn.Parameter(torch.empty(n_heads))
        self.span_loss = LossPoint()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize every head's length to the same fraction of the longest."""
        with torch.no_grad():
            self.span.fill_(self.start).logit_()

    def extra_repr(self) -> str:
        return f"n_heads={len(self.span)}, longest={self.longest}, ramp={self.ramp}"

    def lengths(self) -> Tensor:
        """Return z (H,): the distance up to which a head's weights are unreduced."""
        return self.longest * self.span.sigmoid()

    def reach(self) -> int:
        """Return the largest distance at which any head attends to a key."""
        return int((self.lengths().max() + self.ramp).ceil()) - 1

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d_v); queries are the last T positions."""
        self.span_loss(self.penalty * self.lengths().mean())
        T, S = q.shape[2], k.shape[2]
        at = torch.arange(S, device=q.device)
        ramp = self._ramp(torch.arange(S - T, S, device=q.device).unsqueeze(1) - at)
        allowed = (ramp > 0) & all_real(real, k)[:, None, None]
        return self.steps(q, k, v, allowed, _log(ramp), scale)

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        self.span_loss(self.penalty * self.lengths().mean())
        T, reach = q.shape[2], min(self.reach(), k.shape[2] - 1)
        q, k, v, real, behind = stretches(q, k, v, all_real(real, k), reach)
        ramp = self._ramp(behind)  # (H, block, block + reach)
        allowed = real & (ramp > 0).unsqueeze(1)
        scores = self.score(q, k, scale) + _log(ramp).unsqueeze(1)
        mixed = self.mix(self.dropout(self.weigh(scores, allowed)), v)
        return mixed.flatten(2, 3)[:, :, :T]

    def _ramp(self, behind: Tensor) -> Tensor:
        """Return the weights' factor (H, ...) at distances behind (...); 0 for later keys."""
        z = self.lengths()[(..., *[None] * behind.ndim)]
        ramp = ((self.ramp + z - behind) / self.ramp).clamp(0, 1)
        return ramp.masked_fill(behind < 0, 0.0)


def _log(ramp: Tensor) -> Tensor:
    """Return log(ramp), 0 where the ramp is 0: those pairs are masked."""
    return torch.where(ramp > 0, ramp, 1.0).log()

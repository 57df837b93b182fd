"""Attention that is sparse by position: a mechanism is a mask, and a faster way to the same
result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from deepdive.attention.softmax import SoftmaxAttention, check_attention_inputs
from deepdive.attention.structure import read_mask, refuse_bias
from deepdive.masks import Causal, Mask, Padding


@dataclass(frozen=True)
class PerHead(Mask):
    """Another mask for each head, in their order."""

    masks: tuple[Mask, ...]

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        return torch.cat([mask.dense(T, S, device) for mask in self.masks], dim=1)


class PatternAttention(SoftmaxAttention):
    """Softmax attention under the mask `pattern(heads)`, computed without its closed pairs.

    A mechanism gives its mask in `pattern` and its faster form in `sparse`; a test holds the two
    equal. While a hook listens at `scores` or `weights` (B, H, T, S), the mask is written out and
    the steps run one by one, at full cost. Honours `Padding` and, unless `causal_form` is False,
    `Causal`; refuses every other mask, and a bias. A query without a key gets 0.
    """

    fused = True
    causal_form = True

    def pattern(self, heads: int) -> Mask:
        """Return the mask that defines the mechanism, before `Causal` and `Padding`."""
        raise NotImplementedError

    def sparse(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v); `real` bool (B or 1, S), None = all keys."""
        raise NotImplementedError

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Mask | Tensor | None = None,
        bias: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Return the mixed values (B, H, T, d_v) for q (B, H, T, d), k and v of S rows; queries are
        the last T positions.
        """
        check_attention_inputs(q, k, v, bias)
        name = type(self).__name__
        refuse_bias(bias, name)
        real, causal = read_mask(mask, k, name, causal=self.causal_form)
        self.check_lengths(q.shape[2], k.shape[2])
        scale = self.default_scale(q.shape[-1]) if scale is None else scale
        if self._listening:
            whole = written_out(self.pattern(q.shape[1]), real, causal)
            return super().forward(q, k, v, whole, None, scale)
        return self.sparse(q, k, v, real, causal, scale)

    def check_lengths(self, T: int, S: int) -> None:
        """Raise ValueError for lengths that the mechanism cannot serve."""

    @property
    def dropped(self) -> float:
        """The probability with which a weight is dropped now."""
        return self.dropout.p if self.training else 0.0


def written_out(pattern: Mask, real: Tensor | None, causal: bool) -> Mask:
    """Return the whole mask of a mechanism."""
    if causal:
        pattern = pattern & Causal()
    return pattern if real is None else pattern & Padding(real)


def same_length(T: int, S: int, name: str) -> None:
    """Raise ValueError unless there are as many queries as keys: for mechanisms that arrange a
    whole text anew, and so have no form for a cache or foreign rows.
    """
    if T != S:
        raise ValueError(
            f"{name} arranges a text by its positions, so queries and keys must be the same rows; "
            f"got {T} queries and {S} keys. Use SoftmaxAttention with its mask, at full cost"
        )


def one_each(values: Sequence[int], heads: int, name: str) -> tuple[int, ...]:
    """Return one value a head: one for all, or as many as there are heads (ValueError)."""
    if len(values) not in (1, heads):
        raise ValueError(f"{name} has {len(values)} values for {heads} heads: give one, or {heads}")
    return tuple(values) * heads if len(values) == 1 else tuple(values)

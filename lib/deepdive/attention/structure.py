"""Base class of mechanisms without T x S tensors, and the parts of a mask that they support."""

import torch
from torch import Tensor

from deepdive.core.masks import Causal, Mask, Padding, as_mask
from deepdive.core.mechanism import INSTEAD, Mechanism, fitting, honored


class StructuredAttention(Mechanism):
    """Base class of mechanisms with their own form of `Causal` and `Padding`, and no bias.

    A mechanism computes this form in `structured`, as its equation. One without a causal form has
    `honors = (Padding,)`. Where there is a faster form, `fast` computes it, with `deepdive._fast`:
    it runs unless `explicit` requires the steps one by one. A test compares both forms of every
    mechanism.
    """

    honors: tuple[type[Mask], ...] = (Causal, Padding)
    takes_bias = False

    def compute(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: Tensor | None, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d_v)."""
        form = self.structured if self.explicit(q) else self.fast
        return form(q, k, v, *structure(mask, k), scale)

    def explicit(self, q: Tensor) -> bool:
        """Whether the steps must run one by one: while there is a hook."""
        return self.listening

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d_v); `real` bool (B or 1, S), None = all keys."""
        raise NotImplementedError

    def fast(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return what `structured` returns, to rounding; under dropout, in distribution."""
        return self.structured(q, k, v, real, causal, scale)


def structure(mask: Mask | None, k: Tensor) -> tuple[Tensor | None, bool]:
    """Return which keys are real, bool (B or 1, S) or None for all, and whether the mask is causal,
    for a mask of `Padding` and `Causal` alone; k is (B, H, S, d).
    """
    real: Tensor | None = None
    parts = () if mask is None else mask.parts
    for part in parts:
        if isinstance(part, Padding):
            keys = part.allowed(1, k.shape[2], k.device)
            assert keys is not None
            keys = fitting("mask", keys, (k.shape[0], k.shape[1], 1, k.shape[2]))[:, 0, 0]
            real = keys if real is None else real & keys
    return real, any(isinstance(part, Causal) for part in parts)


def read_mask(
    mask: Mask | Tensor | None,
    k: Tensor,
    mechanism: str,
    *,
    causal: bool = True,
    instead: str = INSTEAD,
) -> tuple[Tensor | None, bool]:
    """Return the `structure` of a mask, for a module that is no `Mechanism`.

    `mechanism` is the class and `instead` an alternative, for the message; `causal`: whether it has
    a causal form. Raises ValueError for a part that it does not support.
    """
    kinds: tuple[type[Mask], ...] = (Causal, Padding) if causal else (Padding,)
    return structure(honored(as_mask(mask), kinds, mechanism, instead), k)


def all_real(real: Tensor | None, k: Tensor) -> Tensor:
    """Return `real`, or ones (1, S) where every key is real."""
    return torch.ones(1, k.shape[2], dtype=torch.bool, device=k.device) if real is None else real

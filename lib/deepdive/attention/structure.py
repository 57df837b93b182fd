"""What a mechanism that makes nothing of size T x S reads of a mask, and how it says no."""

from __future__ import annotations

import torch
from torch import Tensor

from deepdive.masks import Causal, Mask, Padding, as_mask, describe

INSTEAD = "Use SoftmaxAttention, which honours every mask, at full cost"


def read_mask(
    mask: Mask | Tensor | None,
    k: Tensor,
    mechanism: str,
    *,
    causal: bool = True,
    instead: str = INSTEAD,
) -> tuple[Tensor | None, bool]:
    """Return which keys are real, bool (B or 1, S) or None for all, and whether the mask is causal.

    `mechanism` is the class that asks and `instead` the way out, for the message; `causal` says
    whether it has a causal form. k is (B, H, S, d).
    Raises ValueError for a part other than `Padding` and, where there is a causal form, `Causal`.
    """
    real: Tensor | None = None
    ahead = False
    mask = as_mask(mask)
    for part in () if mask is None else mask.parts:
        if isinstance(part, Causal) and causal:
            ahead = True
        elif isinstance(part, Padding):
            padding = part.allowed(1, k.shape[2], k.device)
            assert padding is not None
            real = padding[:, 0, 0] if real is None else real & padding[:, 0, 0]
        else:
            honoured = "Causal and Padding" if causal else "Padding alone"
            raise ValueError(
                f"mask: {mechanism} honours {honoured}; got {type(part).__name__} "
                f"({describe(part)}). {instead}"
            )
    return real, ahead


def refuse_bias(bias: Tensor | None, mechanism: str, instead: str = INSTEAD) -> None:
    """Raise ValueError when there is a bias: it has an entry for each query and key."""
    if bias is not None:
        raise ValueError(
            f"bias has an entry for each query and key, and {mechanism} makes nothing of that "
            f"size. {instead.replace('every mask', 'a bias')}"
        )


def all_real(real: Tensor | None, k: Tensor) -> Tensor:
    """Return `real`, or ones (1, S) where every key is real."""
    return torch.ones(1, k.shape[2], dtype=torch.bool, device=k.device) if real is None else real

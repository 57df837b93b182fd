"""Base class of position-based sparse attention: a mask, and a faster form of the same."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from deepdive.attention.structure import StructuredAttention
from deepdive.core.masks import Causal, Mask, Padding, both
from deepdive.core.softmax import SoftmaxAttention


@dataclass(frozen=True)
class PerHead(Mask):
    """One mask per head, in their order."""

    masks: tuple[Mask, ...]

    def allowed(self, T: int, S: int, device: torch.device | None) -> Tensor | None:
        return torch.cat([mask.dense(T, S, device) for mask in self.masks], dim=1)


class PatternAttention(StructuredAttention, SoftmaxAttention):
    """Softmax attention under the mask `pattern(heads)`, computed without its masked pairs.

    A mechanism defines its mask in `pattern`, and in `fast` a form without the masked pairs. While
    `scores` or `weights` (B, H, T, S) has a hook, the mask is dense and the steps run one by one,
    at full cost. A query without a key has output 0.
    """

    def pattern(self, heads: int) -> Mask:
        """Return the mask that defines the mechanism, before `Causal` and `Padding`."""
        raise NotImplementedError

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d_v), from the dense mask."""
        mask = written_out(self.pattern(q.shape[1]), real, causal)
        return self.steps(q, k, v, self.allowed(mask, q, k), None, scale)


def written_out(pattern: Mask | None, real: Tensor | None, causal: bool) -> Mask | None:
    """Return the full mask of a mechanism, None where everything is allowed."""
    pattern = both(pattern, Causal() if causal else None)
    return both(pattern, None if real is None else Padding(real))


def one_each(values: Sequence[int], heads: int, name: str) -> tuple[int, ...]:
    """Return one value per head: one for all, or as many as there are heads (ValueError)."""
    if len(values) not in (1, heads):
        raise ValueError(f"{name} has {len(values)} values for {heads} heads; give 1 or {heads}")
    return tuple(values) * heads if len(values) == 1 else tuple(values)

"""The state of a recurrence between calls, and the padding in its mask."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from deepdive._fast.recurrent import Values
from deepdive.core.masks import Causal, Mask, Padding


@dataclass
class RecurrentState:
    """The state of a recurrence: a layer starts from it, and updates it to its final state.

    values   the state of one layer: (h,), or an LSTM's (h, c), each (B, d_hidden); None = before
             the first token, all zeros
    layers   the states of a stack's layers, created on first access
    """

    values: Values | None = None
    layers: list[RecurrentState] = field(default_factory=list)

    def __getitem__(self, index: int) -> RecurrentState:
        """Return the state of layer `index`."""
        while len(self.layers) <= index:
            self.layers.append(RecurrentState())
        return self.layers[index]

    def reorder(self, index: Tensor) -> None:
        """Let sequence b continue from sequence index[b]; the batch size may change."""
        if self.values is not None:
            self.values = tuple(value[index] for value in self.values)
        for layer in self.layers:
            layer.reorder(index)


def real_tokens(mask: Mask | Tensor | None, x: Tensor) -> Tensor | None:
    """Return which tokens of x (B, T, d_input) are real, bool (B, T); None = all of them.

    `mask` is such a tensor, or a `Mask` made of `Padding` and `Causal` (a recurrence from left
    to right is causal by itself). Raises TypeError for a tensor that is not bool (B, T),
    ValueError for another shape or another mask.
    """
    if mask is None:
        return None
    real: Tensor | None = None
    for part in mask.parts if isinstance(mask, Mask) else (Padding(mask),):
        if isinstance(part, Causal):
            continue
        if not isinstance(part, Padding):
            raise ValueError(
                f"mask: a recurrent layer supports only Padding and Causal; got "
                f"{type(part).__name__}. Use attention for other masks"
            )
        if part.real.shape != x.shape[:2]:
            raise ValueError(
                f"mask has shape {tuple(part.real.shape)}, expected (B, T) = {tuple(x.shape[:2])}"
            )
        real = part.real if real is None else real & part.real
    return real

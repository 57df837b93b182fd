"""Stacked recurrent layers with residual connections (GNMT)."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from deepdive.core.checks import not_negative
from deepdive.core.masks import Mask
from deepdive.recurrent.stacked import RecurrentStack
from deepdive.recurrent.state import RecurrentState

FIRST = 2  # the third layer from the bottom


class ResidualStack(RecurrentStack):
    """Stacked recurrent layers, with residual connections from layer `first` (from 0) on.

        x = layer_i(x)              i < first
        x = layer_i(x) + x          i >= first            # (B, T, d_hidden)

    Raises ValueError when a layer from `first` on is not as wide as its input.
    Source: Wu et al. 2016, section 3.1, equations 5 and 6.
    """

    def __init__(
        self,
        make_layer: Callable[[int], nn.Module],
        n_layers: int,
        dropout: float = 0.0,
        first: int = FIRST,
    ) -> None:
        super().__init__(make_layer, n_layers, dropout)
        not_negative(first=first)
        self.first = first
        check_widths(self.layers[first:], first)

    def forward(
        self, x: Tensor, mask: Mask | Tensor | None = None, state: RecurrentState | None = None
    ) -> Tensor:
        """Return the last layer's sums (B, T, d_hidden); `state[i]` belongs to layer i."""
        state = RecurrentState() if state is None else state
        for i, layer in enumerate(self.layers):
            h = layer(x if i == 0 else self.dropout(x), mask, state[i])
            x = h + x if i >= self.first else h
        return x


def check_widths(layers: Sequence[nn.Module] | nn.ModuleList, first: int, extra: int = 0) -> None:
    """Raise ValueError unless each layer's output is as wide as its input, less `extra` columns."""
    for i, layer in enumerate(layers, first):
        if layer.d_input - extra != layer.d_hidden:  # type: ignore[operator]
            raise ValueError(
                f"layer {i} has inputs of width {layer.d_input - extra}, "  # type: ignore[operator]
                f"but outputs {layer.d_hidden}: a residual needs equal widths; fix, or raise first"
            )

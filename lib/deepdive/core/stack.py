"""A stack of transformer layers."""

from collections.abc import Callable

from torch import Tensor, nn

from deepdive.core.checks import not_negative
from deepdive.core.context import Context, Layer


class Stack(Layer):
    """A stack of blocks, then `norm` if there is one.

    `make_block(i)` builds the block of layer i: different layers, or one block shared by all of
    them, are ordinary Python. Pre-norm blocks leave the stream unnormalized, so their stack needs a
    final `norm`; post-norm blocks need none.
    Raises ValueError when n_layers is negative.
    """

    def __init__(
        self, make_block: Callable[[int], nn.Module], n_layers: int, norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        not_negative(n_layers=n_layers)
        self.blocks = nn.ModuleList(make_block(i) for i in range(n_layers))
        self.norm = norm

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the stream (B, T, d_model) after all blocks; slot i of the cache belongs to layer
        call i.
        """
        for i, block in enumerate(self.blocks):
            x = block(x, context.for_layer(i))
        return x if self.norm is None else self.norm(x)

"""What flows from block to block."""

from collections.abc import Callable

from torch import Tensor, nn

from deepdive.attention.cache import KVCache
from deepdive.checks import not_negative
from deepdive.masks import Mask


class Stack(nn.Module):
    """Blocks one after the other, then `norm` if there is one.

    `make_block(i)` builds the block of layer i: layers that differ, or one block for all of them,
    are ordinary Python. Pre-norm blocks leave the stream unnormalised, so their stack needs a
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

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        mask: Mask | Tensor | None = None,
        memory_mask: Mask | Tensor | None = None,
        positions: Tensor | None = None,
        cache: KVCache | None = None,
        memory_positions: Tensor | None = None,
    ) -> Tensor:
        """Return the stream (B, T, d_model) after all blocks; slot i of `cache` belongs to layer
        call i. The other arguments are those of `Block`.
        """
        for i, block in enumerate(self.blocks):
            slot = None if cache is None else cache[i]
            x = block(x, memory, mask, memory_mask, positions, slot, memory_positions)
        return x if self.norm is None else self.norm(x)

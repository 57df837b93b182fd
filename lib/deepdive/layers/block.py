"""One layer of a transformer: attention, attention to a memory if there is one, feed-forward."""

from collections.abc import Callable

from torch import Tensor, nn

from deepdive.attention.cache import Slot
from deepdive.inspect import HookPoint
from deepdive.layers.residual import PreNorm
from deepdive.masks import Mask

Residual = Callable[[int], nn.Module]


class Block(nn.Module):
    """Sublayers on one residual stream, each joined to it by its own `residual`.

        x = residual(x, attn(x));  x = residual(x, cross(x, memory));  x = residual(x, ff(x))

    `attn` and `cross` are modules with the signature of `MultiHeadAttention` and its attribute
    `d_model`; `ff` maps rows to rows; `residual` builds a joint from the width: `PreNorm`,
    `PostNorm`, `partial(PreNorm, dropout=0.1)`. Hook point: `stream` (B, T, d_model), what the
    block passes on.
    """

    def __init__(
        self,
        attn: nn.Module,
        ff: nn.Module,
        cross: nn.Module | None = None,
        residual: Residual = PreNorm,
    ) -> None:
        super().__init__()
        d_model = int(attn.d_model)  # type: ignore[arg-type]
        self.attn, self.attn_residual = attn, residual(d_model)
        self.cross, self.cross_residual = cross, residual(d_model) if cross is not None else None
        self.ff, self.ff_residual = ff, residual(d_model)
        self.stream = HookPoint()

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        mask: Mask | Tensor | None = None,
        memory_mask: Mask | Tensor | None = None,
        positions: Tensor | None = None,
        cache: Slot | None = None,
        memory_positions: Tensor | None = None,
    ) -> Tensor:
        """Return the stream (B, T, d_model) after the layer.

        `memory` (B, S, d_context) holds foreign rows, an encoder's output; no norm of this stream
        touches them. `positions` (T,) or (B, T) are those of x in both attentions,
        `memory_positions` (S,) or (B, S) those of the memory; by default rows are counted.
        Raises ValueError when there is a cross-attention without a memory, or a memory without a
        cross-attention.
        """
        if memory is not None and self.cross is None:
            raise ValueError(
                "memory was given, but no cross-attention reads it: give the block cross="
            )
        if memory is None and self.cross is not None:
            raise ValueError(
                "memory is missing: the cross-attention needs rows (B, S, d_context) to attend to"
            )
        x = self.attn_residual(
            x, lambda rows: self.attn(rows, mask=mask, positions=positions, cache=cache)
        )
        if self.cross is not None and self.cross_residual is not None:
            cross = self.cross
            x = self.cross_residual(
                x,
                lambda rows: cross(
                    rows,
                    memory,
                    mask=memory_mask,
                    positions=positions,
                    context_positions=memory_positions,
                    cache=cache,
                ),
            )
        x = self.ff_residual(x, self.ff)
        return self.stream(x)

"""A stack of single sublayers in any order, such as "ssfsff"."""

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor, nn

from deepdive.core.block import Residual
from deepdive.core.checks import positive
from deepdive.core.context import Context, Layer
from deepdive.core.feed_forward import Activation, FeedForward, relu
from deepdive.core.multi_head import MultiHeadAttention
from deepdive.core.norms import LayerNorm
from deepdive.core.position import Position
from deepdive.core.residual import PreNorm
from deepdive.core.stack import Stack
from deepdive.layers.convolution import Convolution


class Sublayer(Layer):
    """One sublayer with its residual connection: residual(x, sublayer).

    A `Layer`, such as `MultiHeadAttention`, gets the context; other sublayers only get x.
    """

    reads = ("mask", "bias", "positions", "cache")
    instead = "one sublayer attends only to x: use a Block with cross= for a memory"

    def __init__(self, sublayer: nn.Module, residual: nn.Module) -> None:
        super().__init__()
        self.sublayer, self.residual = sublayer, residual

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the residual stream (B, T, d_model) after the sublayer."""
        if isinstance(self.sublayer, Layer):
            return self.residual(x, partial(self.sublayer, context=context))
        return self.residual(x, self.sublayer)


class SublayerStack(Stack):
    """A stack of single sublayers, then `norm`. Slot i of a cache belongs to the i-th sublayer that
    is a `Layer`: feed-forward layers have nothing to cache.
    """

    def __init__(self, sublayers: Sequence[Sublayer], norm: nn.Module | None = None) -> None:
        super().__init__(lambda i: sublayers[i], len(sublayers), norm)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the stream (B, T, d_model). Raises ValueError for a cache without a sublayer that
        could fill it.
        """
        slots = 0
        for block in self.blocks:
            has_state = isinstance(block.sublayer, Layer)
            x = block(x, context.for_layer(slots) if has_state else None)
            slots += has_state
        if context.cache is not None and not slots:
            raise ValueError("cache: no sublayer has states to cache; call it on full sequences")
        return x if self.norm is None else self.norm(x)


def sublayer_stack(
    order: str,
    d_model: int,
    n_heads: int,
    d_ff: int,
    *,
    residual: Residual = PreNorm,
    activation: Activation = relu,
    bias: bool = True,
    position: Callable[[], Position] | None = None,
    kernel: int = 4,
) -> SublayerStack:
    """Build the sublayers that `order` names, and a final norm: s self-attention, f feed-forward,
    c causal convolution over `kernel` positions, i identity, which adds no sublayer.

    Raises ValueError for other letters, and a kernel below 1.
    """
    positive(kernel=kernel)
    if odd := sorted({*order} - {*"sfci"}):
        raise ValueError(f"order={order!r} has {odd}: expected the letters s, f, c, and i")
    make: dict[str, Callable[[], nn.Module]] = {
        "s": lambda: MultiHeadAttention(
            d_model, n_heads, bias=bias, position=position and position()
        ),
        "f": lambda: FeedForward(d_model, d_ff, activation, bias=bias),
        "c": lambda: Convolution(d_model, kernel - 1, bias=bias),
    }
    letters = order.replace("i", "")
    layers = [Sublayer(make[letter](), residual(d_model)) for letter in letters]
    return SublayerStack(layers, LayerNorm(d_model))

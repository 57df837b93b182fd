"""Sandwich Transformer: the same sublayers, attention first and feed-forward last. Press, Smith and
Levy 2020, "Improving Transformer Models by Reordering their Sublayers".

Long because no parent is a sequence of single sublayers, in any order.

System: sandwich
Parent: transformer
What differs:
- the stack is a sequence of single sublayers (`Sublayer`) in any order, such as "ssfsff", rather
  than of blocks of two (`SublayerStack`)
- `sandwich_order`: k attention layers come first, k feed-forward layers last, and the rest
  alternate between them, so the number of weights is unchanged
- it is decoder-only, with a norm before each sublayer: a language model (`sandwich`)
Source: Press, Smith and Levy 2020, the sandwich ordering.
Book: table 1.1
"""

from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor, nn

from deepdive.core import (
    Context,
    FeedForward,
    Layer,
    LayerNorm,
    MultiHeadAttention,
    Position,
    PreNorm,
    relu,
)
from deepdive.core.block import Residual
from deepdive.core.checks import positive
from deepdive.core.feed_forward import Activation
from deepdive.core.stack import Stack
from deepdive.layers.convolution import Convolution
from deepdive.models.transformer.decoder_only import DecoderOnly, around_stack


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


def sandwich_order(n_layers: int, k: int) -> str:
    """Return s^k (sf)^(n_layers - k) f^k; k = 0 alternates throughout, as the Transformer does.

    Raises ValueError unless 0 <= k <= n_layers. Source: Press, Smith and Levy 2020.
    """
    if not 0 <= k <= n_layers:
        raise ValueError(f"k={k}: the sandwich coefficient must be from 0 to n_layers={n_layers}")
    return "s" * k + "sf" * (n_layers - k) + "f" * k


def sandwich(
    vocab_size: int,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_layers: int = 6,
    d_ff: int = 2048,
    k: int = 2,
    max_length: int = 1024,
    dropout: float = 0.1,
) -> DecoderOnly:
    """Build a language model of n_layers attention and n_layers feed-forward sublayers."""
    order, residual = sandwich_order(n_layers, k), partial(PreNorm, dropout=dropout)
    stack = sublayer_stack(order, d_model, n_heads, d_ff, residual=residual)
    return around_stack(stack, vocab_size, d_model, max_length, dropout)


def tiny(vocab_size: int = 32) -> DecoderOnly:
    """Return a model for tests: order "ssfsff", width 32, 4 heads, 64 positions."""
    sizes = {"d_model": 32, "n_heads": 4, "n_layers": 3, "d_ff": 64, "max_length": 64}
    return sandwich(vocab_size, **sizes, k=1, dropout=0.0)

"""A transformer layer: self-attention, cross-attention if there is a memory, feed-forward."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from deepdive.core.context import Context, Layer
from deepdive.core.hooks import HookPoint
from deepdive.core.residual import PreNorm

Residual = Callable[[int], nn.Module]


class Block(Layer):
    """A transformer layer: sublayers on one residual stream, each with its residual connection.

        x = attn_residual(x, attn);  x = cross_residual(x, cross);  x = ff_residual(x, ff)

    `attn` and `cross` are each a `Layer`, such as `MultiHeadAttention`, and only `cross` gets the
    memory. Other sublayers get the context if they are a `Layer`, else only x. `residual` builds a
    residual connection from d_model: `PreNorm`, `partial(PostNorm, dropout=0.1)`. Without a
    feed-forward sublayer (ff=None), attention is the only one.

    `more` are further sublayers by name, and `order` names all of them in the order they run:
    `Block(attn, ff, order=("conv", "attn", "ff"), conv=Convolution(d_model, 3))`.
    Hook point: `stream` (B, T, d_model), the block's output.
    Raises ValueError where `order` does not name each of them.
    """

    attn: nn.Module
    attn_residual: nn.Module
    cross: nn.Module | None
    cross_residual: nn.Module | None
    ff: nn.Module
    ff_residual: nn.Module

    def __init__(
        self,
        attn: nn.Module,
        ff: nn.Module | None,
        cross: nn.Module | None = None,
        residual: Residual = PreNorm,
        order: tuple[str, ...] = ("attn", "cross", "ff"),
        **more: nn.Module,
    ) -> None:
        super().__init__()
        d_model = int(attn.d_model)  # type: ignore[arg-type]
        sublayers = {"attn": attn, "cross": cross, "ff": ff, **more}
        if odd := sorted({*order} - {*sublayers} | {*sublayers} - {*order, "cross"}):
            raise ValueError(f"order={order} and the sublayers differ in {', '.join(odd)}")
        self.order = order
        for name, sublayer in sublayers.items():
            self.add_module(name, sublayer)
            self.add_module(f"{name}_residual", None if sublayer is None else residual(d_model))
        self.stream = HookPoint()

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the stream (B, T, d_model) after all sublayers.

        No norm of this stream acts on the memory (B, S, d_context). Raises ValueError for a memory
        without a cross-attention, or a cross-attention without a memory.
        """
        return self.stream(self.joined(x, context))

    def joined(self, x: Tensor, context: Context) -> Tensor:
        """Return x (B, T, d_model) after every sublayer and its residual connection, in order."""
        for name in self.sublayers(context):
            sublayer, residual = getattr(self, name), getattr(self, f"{name}_residual")
            if name in ("attn", "cross") or isinstance(sublayer, Layer):
                fields = context.of_memory() if name == "cross" else context.without_memory()
                sublayer = partial(sublayer, context=fields)
            x = residual(x, sublayer)
        return x

    def sublayers(self, context: Context) -> list[str]:
        """Return the names of the sublayers that run."""
        if context.memory is not None and self.cross is None:
            raise ValueError(
                "memory was given, but the block has no cross-attention: build it with cross="
            )
        if context.memory is None and self.cross is not None:
            raise ValueError(
                "memory is missing: the cross-attention needs states (B, S, d_context) to attend to"
            )
        return [name for name in self.order if getattr(self, name) is not None]

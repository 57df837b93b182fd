"""One layer of a transformer: attention, attention to a memory if there is one, feed-forward."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from deepdive.core.context import Context, Layer
from deepdive.core.hooks import HookPoint
from deepdive.core.residual import PreNorm

Residual = Callable[[int], nn.Module]


class Block(Layer):
    """Sublayers on one residual stream, each joined to it by its own residual.

        x = attn_residual(x, attn);  x = cross_residual(x, cross);  x = ff_residual(x, ff)

    `attn` and `cross` are each a `Layer`, such as `MultiHeadAttention`, and only `cross` gets the
    memory. Other sublayers get the context if they are a `Layer`, else x alone. `residual` builds a
    joint from the width: `PreNorm`, `partial(PostNorm, dropout=0.1)`.

    `more` are further sublayers by name, and `order` names all of them as they follow one another:
    `Block(attn, ff, order=("conv", "attn", "ff"), conv=Convolution(d_model, 3))`.
    Hook point: `stream` (B, T, d_model), what the block passes on.
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
        ff: nn.Module,
        cross: nn.Module | None = None,
        residual: Residual = PreNorm,
        order: tuple[str, ...] = ("attn", "cross", "ff"),
        **more: nn.Module,
    ) -> None:
        super().__init__()
        d_model = int(attn.d_model)  # type: ignore[arg-type]
        given = {"attn": attn, "cross": cross, "ff": ff, **more}
        if odd := sorted({*order} - {*given} | {*given} - {*order, "cross"}):
            raise ValueError(f"order={order} and the sublayers differ in {', '.join(odd)}")
        self.order = order
        for name, sublayer in given.items():
            self.add_module(name, sublayer)
            self.add_module(f"{name}_residual", None if sublayer is None else residual(d_model))
        self.stream = HookPoint()

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the stream (B, T, d_model) after all sublayers.

        No norm of this stream touches the memory (B, S, d_context). Raises ValueError for a memory
        without a cross-attention, or a cross-attention without a memory.
        """
        return self.stream(self.joined(x, context))

    def joined(self, x: Tensor, context: Context) -> Tensor:
        """Return x (B, T, d_model) with every sublayer joined to it, one after the other."""
        for name in self.sublayers(context):
            sublayer, residual = getattr(self, name), getattr(self, f"{name}_residual")
            if name in ("attn", "cross") or isinstance(sublayer, Layer):
                own = context.of_memory() if name == "cross" else context.without_memory()
                sublayer = partial(sublayer, context=own)
            x = residual(x, sublayer)
        return x

    def sublayers(self, context: Context) -> list[str]:
        """Return the names of the sublayers that run."""
        if context.memory is not None and self.cross is None:
            raise ValueError(
                "memory was given, but no cross-attention reads it: give the block cross="
            )
        if context.memory is None and self.cross is not None:
            raise ValueError(
                "memory is missing: the cross-attention needs states (B, S, d_context) to attend to"
            )
        return [name for name in self.order if getattr(self, name) is not None]

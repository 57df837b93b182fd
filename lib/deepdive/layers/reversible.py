"""Reversible layers: inputs are recomputed from outputs, so that no activations need be stored.

System: reversible
Parent: residual_norm
What differs:
- two streams instead of one, each plus a function of the other (`ReversibleBlock`)
- the backward pass computes every layer's input from its output: memory does not grow with depth
  (`ReversibleStack`)
- each sublayer is computed once more in the backward pass, with the same dropout
Source: Gomez et al. 2017, section 3; Kitaev et al. 2020, section 3.
Book: 1.2.1.2
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from deepdive.core.context import EMPTY, Context
from deepdive.core.hooks import HookPoint
from deepdive.core.norms import LayerNorm
from deepdive.core.residual import Norm
from deepdive.core.stack import Stack


class ReversibleBlock(nn.Module):
    """Two sublayers on two streams, each of which is computed from the other.

        y1 = x1 + f(x2),  y2 = x2 + g(y1)                       # forward
        x2 = y2 - g(y1),  x1 = y1 - f(x2)                       # backward
        f(x) = dropout(attn(norm(x))),  g(x) = dropout(ff(norm(x)))

    `attn` is a `Layer` with an attribute `d_model`; `ff` is position-wise. Hook point: `stream`,
    both streams concatenated, (B, T, 2 d_model).
    Source: Kitaev et al. 2020, section 3.
    """

    def __init__(
        self, attn: nn.Module, ff: nn.Module, norm: Norm = LayerNorm, dropout: float = 0.0
    ) -> None:
        super().__init__()
        d_model = int(attn.d_model)  # type: ignore[arg-type]
        self.attn, self.attn_norm = attn, norm(d_model)
        self.ff, self.ff_norm = ff, norm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.stream = HookPoint()

    def f(self, x: Tensor, context: Context) -> Tensor:
        """Return the output of attention, added to the first stream."""
        return self.dropout(self.attn(self.attn_norm(x), context))

    def g(self, x: Tensor) -> Tensor:
        """Return the output of the feed-forward layer, added to the second stream."""
        return self.dropout(self.ff(self.ff_norm(x)))

    def forward(
        self, x1: Tensor, x2: Tensor, context: Context = EMPTY, seed: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return both streams after the layer; `seed` sets the sublayers' random numbers."""
        with _drawn_from(seed, 0, x1):
            y1 = x1 + self.f(x2, context)
        with _drawn_from(seed, 1, x1):
            y2 = x2 + self.g(y1)
        return y1, y2

    @torch.no_grad()
    def inverse(
        self, y1: Tensor, y2: Tensor, context: Context = EMPTY, seed: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return both streams before the layer, from those after it, to rounding."""
        with _drawn_from(seed, 1, y1):
            x2 = y2 - self.g(y1)
        with _drawn_from(seed, 0, y1):
            return y1 - self.f(x2, context), x2


class ReversibleStack(Stack):
    """A stack of `ReversibleBlock` on two copies of the stream; then `norm`, if any.

    Returns both streams concatenated, (B, T, 2 d_model). While gradients are recorded, only the
    last streams are stored, and the backward pass inverts the layers. It runs as usual without
    gradients, with a cache, and while there is a hook. A block must not change between the passes,
    and its random numbers must come from torch's generators.
    Raises ValueError when n_layers is negative, and for a memory.
    """

    reads = ("mask", "bias", "positions", "cache")
    instead = "reversible blocks have no cross-attention: use Stack"

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return both streams (B, T, 2 d_model) after all blocks, for x (B, T, d_model)."""
        seeds = self._seeds()
        if context.cache is None and torch.is_grad_enabled() and not self._listening():
            parameters = [p for p in self.parameters() if p.requires_grad]
            streams = _Reversed.apply(x, self.blocks, context, seeds, *parameters)  # type: ignore[no-untyped-call]
        else:
            y1 = y2 = x
            for i, (block, seed) in enumerate(zip(self.blocks, seeds, strict=True)):
                streams = torch.cat(block(y1, y2, context.for_layer(i), seed), dim=-1)
                y1, y2 = cast(ReversibleBlock, block).stream(streams).chunk(2, dim=-1)
            streams = torch.cat([y1, y2], dim=-1)
        return streams if self.norm is None else self.norm(streams)

    def _seeds(self) -> list[int | None]:
        """Return one seed per layer in training, to repeat its random numbers."""
        if not self.training:
            return [None] * len(self.blocks)
        first = int(torch.randint(2**62, ()))
        return [first + 2 * i for i in range(len(self.blocks))]

    def _listening(self) -> bool:
        return any(m.listening for m in self.modules() if isinstance(m, HookPoint))


class _Reversed(torch.autograd.Function):
    """All blocks as one function that stores only its output."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, blocks: nn.ModuleList, context: Context, seeds: list[int | None],
        *parameters: Tensor,
    ) -> Tensor:  # fmt: skip
        y1 = y2 = x
        for block, seed in zip(blocks, seeds, strict=True):
            y1, y2 = block(y1, y2, context, seed)
        ctx.blocks, ctx.context, ctx.seeds, ctx.parameters = blocks, context, seeds, parameters
        ctx.save_for_backward(y1, y2)
        return torch.cat([y1, y2], dim=-1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        y1, y2 = ctx.saved_tensors
        d1, d2 = grad.chunk(2, dim=-1)
        gradients: dict[int, Tensor] = {}
        for block, seed in zip(reversed(ctx.blocks), reversed(ctx.seeds), strict=True):
            with _drawn_from(seed, 1, y1):
                output, slope = _pulled_back(block.g, y1, d2, block, gradients)
            y2, d1 = y2 - output, d1 + slope  # y2 is x2 from here on
            with _drawn_from(seed, 0, y1):
                f = lambda x, block=block: block.f(x, ctx.context)  # noqa: E731
                output, slope = _pulled_back(f, y2, d1, block, gradients)
            y1, d2 = y1 - output, d2 + slope
        return d1 + d2, None, None, None, *(gradients.get(id(p)) for p in ctx.parameters)


def _pulled_back(
    sublayer: Callable[[Tensor], Tensor], x: Tensor, grad: Tensor, block: nn.Module,
    gradients: dict[int, Tensor],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return sublayer(x) and the gradient with respect to x; add those of parameters to
    `gradients`, by identity.
    """
    parameters = [p for p in block.parameters() if p.requires_grad]
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        output = sublayer(x)
    slope, *slopes = torch.autograd.grad(output, [x, *parameters], grad, allow_unused=True)
    for parameter, value in zip(parameters, slopes, strict=True):
        if value is not None:
            total = gradients.get(id(parameter))
            gradients[id(parameter)] = value if total is None else total + value
    return output.detach(), slope


@contextmanager
def _drawn_from(seed: int | None, sublayer: int, like: Tensor) -> Iterator[None]:
    """Seed torch's generators by the sublayer's seed inside, and restore them afterwards."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng([like.device] if like.device.type == "cuda" else []):
        torch.manual_seed(seed + sublayer)
        yield

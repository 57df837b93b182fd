"""A part in its place: the smallest model that uses it, 16 wide with 4 heads, for the laws; and
what those who try the laws share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from laws import Case
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, KVCache, MultiHeadAttention, Position, PreNorm, Slot
from deepdive.core.stack import Stack


class Rows(nn.Module):
    """Rows with positions, through a stack, under any mask and cache."""

    def __init__(self, stack: nn.Module, position: nn.Module | None = None) -> None:
        super().__init__()
        self.stack, self.position = stack, position

    def forward(self, x: Tensor, mask: Any = None, cache: KVCache | None = None) -> Tensor:
        start = 0 if cache is None else cache.length
        if self.position is not None:
            x = self.position.embed(x, torch.arange(start, start + x.shape[1]))
        return self.stack(x, mask=mask, cache=cache)


def blocks(
    attention: Callable[[], nn.Module] = lambda: MultiHeadAttention(16, 4),
    feed_forward: Callable[[], nn.Module] = lambda: FeedForward(16, 32),
    residual: Callable[[int], nn.Module] = PreNorm,
    norm: nn.Module | None = None,
) -> Stack:
    """Two blocks with the given part in its place."""
    return Stack(lambda i: Block(attention(), feed_forward(), residual=residual), 2, norm)


def at_all_places(scheme: Position) -> Rows:
    """One scheme for the rows and for both blocks: it acts where it has something to do."""
    return Rows(blocks(lambda: MultiHeadAttention(16, 4, position=scheme)), scheme)


PLACES: dict[str, Callable[[Callable[[], Any]], nn.Module]] = {
    "norm": lambda make: Rows(blocks(norm=make())),
    "feed_forward": lambda make: Rows(blocks(feed_forward=make)),
    "residual": lambda make: Rows(blocks(residual=lambda d_model: make())),
    "position": lambda make: at_all_places(make()),
    "mechanism": lambda make: MultiHeadAttention(16, 4, mechanism=make()),
    "layer": lambda make: make(),
    "stack": lambda make: Rows(make()),
}


def run(module: nn.Module, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    return module(x, mask=mask, cache=state)


def placed(case: Case) -> Case:
    """The case with its part in place: `make`, `run` and `begin` are those of the small model."""
    if case.place is None:
        return case
    state = Slot if case.place in ("mechanism", "layer") else KVCache
    part = case.make
    return replace(
        case, make=lambda: PLACES[case.place](part), run=run, begin=lambda module: state()
    )


def perturbed(case: Case, seed: int = 1, dtype: torch.dtype = torch.float64) -> nn.Module:
    """The case's module with every weight moved off its special values (zero biases, unit
    gains).
    """
    torch.manual_seed(seed)
    module = case.make().to(dtype).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return module


def close(a: Tensor, b: Tensor, tolerance: float = 1e-9) -> None:
    assert a.shape == b.shape, f"{tuple(a.shape)} against {tuple(b.shape)}"
    error = ((a - b).abs().max() / b.abs().max().clamp(min=1)).item()
    assert error < tolerance, f"differs by {error:.1e}"

"""Reversible layers: gradients of plain ones, dropout included, and a memory without depth."""

from __future__ import annotations

import pytest
import torch
from parity_registry import differs
from torch import Tensor

from deepdive.attention.by_content.lsh import LSHAttention
from deepdive.attention.by_content.shared_qk import SharedQKMultiHeadAttention
from deepdive.core import FeedForward
from deepdive.core.hooks import record
from deepdive.layers.feed_forward import ChunkedFeedForward
from deepdive.layers.reversible import ReversibleBlock, ReversibleStack


def stack(n_layers: int = 3, d: int = 16, dropout: float = 0.3) -> ReversibleStack:
    torch.manual_seed(0)

    def block(_layer: int) -> ReversibleBlock:
        attention = SharedQKMultiHeadAttention(d, 2, mechanism=LSHAttention(4, 2, dropout=dropout))
        ff = ChunkedFeedForward(FeedForward(d, 2 * d, dropout=dropout), 5)
        return ReversibleBlock(attention, ff, dropout=dropout)

    return ReversibleStack(block, n_layers).double()


def gradients(model: ReversibleStack, x: Tensor, plainly: bool) -> list[Tensor]:
    torch.manual_seed(7)
    if plainly:
        with record(model, "blocks.0.stream"):
            output = model(x)
    else:
        output = model(x)
    direction = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    found = torch.autograd.grad((output * direction).sum(), [x, *model.parameters()])
    return [output, *found, torch.rand(1)]


@pytest.mark.parametrize("training", [True, False])
def test_gradients_are_those_of_a_plain_stack(training: bool) -> None:
    """In training too: dropout and rotations are drawn again; the generator goes on alike."""
    model = stack().train(training)
    x = torch.randn(2, 13, 16, dtype=torch.float64, requires_grad=True)
    plain, ours = gradients(model, x, True), gradients(model, x, False)
    assert max(differs(a, b) for a, b in zip(ours, plain, strict=True)) < 1e-10


def test_a_dropout_that_is_not_replayed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    model = stack()
    x = torch.randn(2, 13, 16, dtype=torch.float64, requires_grad=True)
    plain = gradients(model, x, True)
    monkeypatch.setattr(ReversibleStack, "_seeds", lambda self: [None] * len(self.blocks))
    ours = gradients(model, x, False)
    assert max(differs(a, b) for a, b in zip(ours[1:-1], plain[1:-1], strict=True)) > 1e-3


def kept(n_layers: int) -> int:
    """Bytes that the graph of one pass holds for its backward pass."""
    model, sizes = stack(n_layers), []
    x = torch.randn(2, 64, 16, dtype=torch.float64, requires_grad=True)

    def note(saved: Tensor) -> Tensor:
        sizes.append(saved.nbytes)
        return saved

    with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
        model(x)
    return sum(sizes)


def test_what_is_kept_does_not_grow_with_depth() -> None:
    assert kept(2) == kept(12) == 2 * 2 * 64 * 16 * 8


def test_one_block_for_all_layers_gathers_its_gradients() -> None:
    one = stack(1).blocks[0]
    shared = ReversibleStack(lambda i: one, 3).double().eval()
    x = torch.randn(1, 9, 16, dtype=torch.float64, requires_grad=True)
    plain, ours = gradients(shared, x, True), gradients(shared, x, False)
    assert max(differs(a, b) for a, b in zip(ours, plain, strict=True)) < 1e-10

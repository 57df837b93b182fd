"""Every tuned form equals what it is a form of: values and gradients, under every mask.

A mechanism says its equation in `structured` and a tuned form of it in `fast`: those that have both
are found by their cases, as in `test_laws.py`. While a hook listens the equation runs, so every
mechanism with hook points returns the same then. A part that stands in for an expression
of torch is held to that expression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from laws import by_part, random_rows
from scaffold import close, perturbed
from torch import Tensor, nn

import deepdive._fast.clustered
import deepdive._fast.kernel
import deepdive._fast.yoso
from deepdive._fast.hashing import nearest
from deepdive._fast.value_convolution import convolved
from deepdive.attention import (
    AdaptiveSpanAttention,
    BlockSparseAttention,
    ChunkAttention,
    GlobalWindowAttention,
    ImprovedClusteredAttention,
    LengthProjection,
    LinformerAttention,
    LongformerAttention,
    SinkhornAttention,
    WindowAttention,
)
from deepdive.attention.structure import StructuredAttention, structure
from deepdive.core.hooks import record
from deepdive.core.hooks import replace as listening
from deepdive.core.masks import Causal, Mask, Padding
from deepdive.core.mechanism import Mechanism

CASES = by_part()
MECHANISMS = sorted(
    (part for part in CASES if issubclass(part, Mechanism)), key=lambda part: part.__qualname__
)
TUNED = [
    part
    for part in MECHANISMS
    if issubclass(part, StructuredAttention) and part.fast is not StructuredAttention.fast
]
HOOKED = [
    part
    for part in MECHANISMS
    if any(name.endswith("weights") for name, _ in CASES[part]().make().named_modules())
]
# Other sizes than the cases': several blocks, and a last one that is not full.
SIZES: dict[type[nn.Module], Callable[[], nn.Module]] = {
    AdaptiveSpanAttention: lambda: AdaptiveSpanAttention(4, 12, ramp=3),
    BlockSparseAttention: lambda: BlockSparseAttention(3, 1),
    ChunkAttention: lambda: ChunkAttention(4, 2, 1),
    GlobalWindowAttention: lambda: GlobalWindowAttention(3, 2, (0, -1), block=5),
    ImprovedClusteredAttention: lambda: ImprovedClusteredAttention(4, 3, top=30),
    LinformerAttention: lambda: LinformerAttention(LengthProjection(1, S, 3)),
    SinkhornAttention: lambda: SinkhornAttention(4, 4, 8, 6),
    WindowAttention: lambda: WindowAttention(3, 2, block=5),
}
B, H, S, D = 2, 4, 41, 4
REAL = torch.ones(B, S).bool()
REAL[0, 33:], REAL[1, :9], REAL[1, 20:24] = False, False, False
MASKS: dict[str, Mask | None] = {
    "none": None,
    "padding": Padding(REAL),
    "causal": Causal(),
    "both": Causal() & Padding(REAL),
}


def built(part: type[nn.Module]) -> nn.Module:
    """A module of the part in float64, in evaluation, its weights off their special values."""
    case = CASES[part]()
    return perturbed(case if part not in SIZES else replace(case, make=SIZES[part]))


def rows(T: int, S: int = S) -> list[Tensor]:
    """Leaves: T queries, S keys and values."""
    return [random_rows(B, H, n, D, seed=seed).requires_grad_() for seed, n in enumerate((T, S, S))]


def equal(one: Tensor, other: Tensor, learned: list[Tensor]) -> None:
    """Values and gradients agree."""
    close(one, other)
    direction = random_rows(*one.shape, seed=9)
    ours, theirs = (
        torch.autograd.grad((x * direction).sum(), learned, allow_unused=True) for x in (one, other)
    )
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            close(a, b)


def accepts(module: Mechanism, rows: list[Tensor], mask: Mask | None) -> bool:
    try:
        module.checked(*rows, mask, None, None)
    except ValueError:
        return False
    return True


def test_tuned_forms_and_hook_points_are_found() -> None:
    assert {WindowAttention, BlockSparseAttention, SinkhornAttention} <= set(TUNED) & set(HOOKED)
    assert len(TUNED) >= 15
    assert len(HOOKED) >= 20


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("part", TUNED, ids=lambda part: part.__qualname__)
def test_a_tuned_form_is_its_equation(
    part: type[nn.Module], mask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room, name in (("kernel", "ROWS"), ("clustered", "BLOCK"), ("yoso", "ROWS")):
        monkeypatch.setattr(getattr(deepdive._fast, room), name, 4)
    attention = built(part)
    assert isinstance(attention, StructuredAttention)
    for T in (S, 7):
        q, k, v = rows(T)
        if not accepts(attention, [q, k, v], MASKS[mask]):
            assert (mask, T) != ("none", S)
            continue
        given = q, k, v, *structure(MASKS[mask], k), attention.default_scale(D)
        learned = [q, k, v, *attention.parameters()]
        equal(attention.fast(*given), attention.structured(*given), learned)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("part", HOOKED, ids=lambda part: part.__qualname__)
def test_while_a_hook_listens_the_same_comes_out(part: type[nn.Module], mask: str) -> None:
    attention, given = built(part), rows(S)
    assert isinstance(attention, Mechanism)
    if not accepts(attention, given, MASKS[mask]):
        assert mask != "none"
        return
    plain = attention(*given, MASKS[mask])
    with listening(attention, "*weights", lambda weights: weights):
        recorded = attention(*given, MASKS[mask])
    equal(recorded, plain, [*given, *attention.parameters()])


@pytest.mark.parametrize("bias", [True, False])
def test_keys_of_global_tokens_need_not_be_written_out(bias: bool) -> None:
    torch.manual_seed(0)
    layer = LongformerAttention(16, 4, window=3, bias=bias).double()
    x, chosen = random_rows(B, S, 16).requires_grad_(), torch.zeros(B, S).bool()
    chosen[0, [1, 30]], chosen[1, 12] = True, True
    mask = Padding(REAL)
    plain = layer(x, mask=mask, global_tokens=chosen)
    with record(layer, "global_weights") as seen:
        recorded = layer(x, mask=mask, global_tokens=chosen)
    assert seen["global_weights"][0].shape == (B, 4, 2, S)
    equal(recorded, plain, [x, *layer.parameters()])


@pytest.mark.parametrize(("T", "kernel"), [(1, 1), (41, 5), (70, 65)])
def test_the_convolution_is_that_of_torch(T: int, kernel: int) -> None:
    v = random_rows(2, 3, T, 4).requires_grad_()
    weight = random_rows(3, kernel, seed=1).requires_grad_()
    expected = F.conv2d(v, weight[:, None, :, None], padding=(kernel // 2, 0), groups=3)
    equal(convolved(v, weight), expected, [v, weight])


def test_the_nearest_direction_is_the_first_of_the_largest() -> None:
    x = random_rows(3, 50, 6)
    x[0, 0], x[0, 1] = 0.0, torch.tensor([1.0, -1, 1, -1, 0, 0])
    assert torch.equal(nearest(x), torch.cat([x, -x], dim=-1).argmax(-1))

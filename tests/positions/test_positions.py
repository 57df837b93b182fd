"""What holds for every position scheme, wherever the rows stand: decoding with a cache is the whole
pass, padding on either side changes nothing, and sizes that do not fit are refused.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from laws import Refuses, by_part, random_rows
from torch import Tensor, nn

import deepdive
from deepdive.attention import ShawAttention
from deepdive.attention.priors.priors import GaussianPrior, TablePrior
from deepdive.core import Block, FeedForward, KVCache, MultiHeadAttention, Position, Slot
from deepdive.core.masks import Causal, Padding
from deepdive.core.stack import Stack
from deepdive.models.efficient.roformer import roformer
from deepdive.positions import (
    ALiBi,
    AxialPosition,
    BlockedSinusoidalPosition,
    LearnedPosition,
    MusicPosition,
    RotaryPosition,
    ShawPosition,
    SinusoidalPosition,
    StructuralPosition,
    T5Bias,
    XLPosition,
)

CASES = by_part()

for module in pkgutil.walk_packages(deepdive.__path__, "deepdive."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

SCHEMES = sorted(
    (
        part
        for part, build in CASES.items()
        if issubclass(part, Position) and not isinstance(build().laws.get("cache"), Refuses)
    ),
    key=lambda part: part.__name__,
)
T, S = 6, 5


def scheme_of(part: type[nn.Module]) -> Position:
    """The scheme of a case, for 4 heads of 4, with every weight moved off its special values."""
    made = CASES[part]().make()
    scheme = made.position if isinstance(made, MultiHeadAttention) else made
    assert isinstance(scheme, Position)
    return moved(scheme)


def moved(module: Any) -> Any:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.double().parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.5 * noise)
    return module.eval()


class Rows(nn.Module):
    """Rows with one scheme at all its places, through two blocks; `cross` reads a memory."""

    def __init__(self, scheme: Position, cross: bool) -> None:
        super().__init__()

        def attention() -> MultiHeadAttention:
            return MultiHeadAttention(16, 4, n_kv_heads=2, position=scheme)

        def block(_layer: int) -> Block:
            return Block(attention(), FeedForward(16, 32), attention() if cross else None)

        self.scheme, self.stack = scheme, Stack(block, 2)

    def forward(self, x: Tensor, positions: Tensor, **more: Any) -> Tensor:
        rows = self.scheme.embed(x, positions[..., -x.shape[1] :])
        return self.stack(rows, positions=positions, **more)


def texts(kind: str, length: int, shift: int) -> tuple[Tensor, Tensor]:
    """Positions (length,) or (2, length), and which rows are real, (2, length)."""
    at, real = torch.arange(length), torch.ones(2, length).bool()
    if kind == "shifted":
        return at + shift, real
    if kind == "apart":
        return torch.stack([at, at + shift]), real
    if kind == "padded in front":
        real[0, :2] = False
    if kind == "padded behind":
        real[0, -2:] = False
    return (real.cumsum(-1) - 1).clamp(min=0) if kind.startswith("padded") else at, real


KINDS = ("counted", "shifted", "apart", "padded in front", "padded behind")


@dataclass
class Memory:
    """Foreign rows, their positions, and which of them are real."""

    rows: Tensor | None = None
    at: Tensor | None = None
    real: Tensor | None = None

    def given(self) -> dict[str, Any]:
        if self.rows is None or self.at is None or self.real is None:
            return {}
        mask = Padding(self.real)
        return {"memory": self.rows, "memory_positions": self.at, "memory_mask": mask}

    def swapped(self) -> Memory:
        if self.rows is None or self.at is None or self.real is None:
            return self
        return Memory(self.rows.flip(0), swapped(self.at), self.real.flip(0))


def swapped(positions: Tensor) -> Tensor:
    return positions if positions.ndim == 1 else positions.flip(0)


def stepwise(model: Rows, x: Tensor, at: Tensor, real: Tensor, memory: Memory) -> Tensor:
    """The rows step by step: a step is taken back, and then the two texts change places."""
    cache = KVCache()

    def step(a: int, b: int, x: Tensor, at: Tensor, real: Tensor, memory: Memory) -> Tensor:
        mask = Causal() & Padding(real[:, :b])
        return model(x[:, a:b], at[..., :b], mask=mask, cache=cache, **memory.given())

    found = [step(a, b, x, at, real, memory) for a, b in ((0, 2), (2, 3))]
    step(3, 5, x.flip(1), at.flip(-1), real, memory)  # another text, taken back
    cache.crop(3)
    found += [step(3, 4, x, at, real, memory)]
    cache.reorder(torch.tensor([1, 0]))
    turned = x.flip(0), swapped(at), real.flip(0), memory.swapped()
    found += [step(a, b, *turned).flip(0) for a, b in ((4, 5), (5, 6))]
    return torch.cat(found, 1)


@pytest.mark.parametrize("foreign", [None, *KINDS])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", SCHEMES, ids=lambda part: part.__name__)
def test_cached_is_whole(part: type[nn.Module], kind: str, foreign: str | None) -> None:
    """In self- and in cross-attention, wherever queries and keys stand."""
    model = moved(Rows(scheme_of(part), foreign is not None))
    x, (at, real) = random_rows(2, T, 16), texts(kind, T, 2)
    memory = Memory()
    if foreign is not None:
        there, solid = texts(foreign, S, 0 if kind == "counted" else 1)
        memory = Memory(random_rows(2, S, 16, seed=8), there, solid)
        if not getattr(model.scheme, "ahead", True) and bool((there[..., 0] > at[..., 0]).any()):
            with pytest.raises(ValueError, match="no key at or before it"):
                model(x, at, **memory.given())
            return
    with torch.no_grad():
        whole = model(x, at, mask=Causal() & Padding(real), **memory.given())
        cached = stepwise(model, x, at, real, memory)
    assert (whole - cached)[real].abs().max() < 1e-9


@pytest.mark.parametrize("side", ["padded in front", "padded behind"])
@pytest.mark.parametrize("part", SCHEMES, ids=lambda part: part.__name__)
def test_a_padded_text_is_the_text_alone(part: type[nn.Module], side: str) -> None:
    """Its rows, its memory, or both: padding on either side changes nothing."""
    model = moved(Rows(scheme_of(part), cross=True))
    x, (at, real) = random_rows(2, T, 16), texts(side, T, 0)
    rows, (there, solid) = random_rows(2, S, 16, seed=8), texts(side, S, 0)
    with torch.no_grad():
        padded = model(x, at, mask=Causal() & Padding(real), **Memory(rows, there, solid).given())
        alone = model(x[:1, real[0]], torch.arange(T - 2), mask=Causal(), memory=rows[:1, solid[0]])
    assert (padded[:1, real[0]] - alone).abs().max() < 1e-9


@pytest.mark.parametrize("part", SCHEMES, ids=lambda part: part.__name__)
def test_places_that_are_not_given_are_counted(part: type[nn.Module]) -> None:
    """Queries and keys are counted from 0, and a cache goes on from its length."""
    scheme = scheme_of(part)
    layer = moved(MultiHeadAttention(16, 4, position=scheme))
    x, memory = random_rows(2, T, 16), random_rows(2, S, 16, seed=8)
    with torch.no_grad():
        there = {"memory": memory, "memory_positions": torch.arange(S)}
        whole, named = layer(x, memory=memory), layer(x, positions=torch.arange(T), **there)
        assert (whole - named).abs().max() < 1e-9
        model = moved(Rows(scheme, cross=False)).stack
        whole, cache = model(x, mask=Causal()), KVCache()
        steps = [model(x[:, :4], mask=Causal(), cache=cache)]
        model(x[:, :1], cache=cache)
        cache.crop(4)
        steps += [model(x[:, a : a + 1], cache=cache) for a in (4, 5)]
        assert (whole - torch.cat(steps, 1)).abs().max() < 1e-9


def test_a_cache_asks_for_the_positions_that_it_does_not_keep() -> None:
    """Those of earlier keys where the scores need them, and of a memory's queries; a scheme that
    only rotates needs neither.
    """
    x, memory, at = random_rows(2, T, 16), random_rows(2, S, 16, seed=8), torch.arange(2, T + 2)
    layer = moved(MultiHeadAttention(16, 4, position=scheme_of(T5Bias)))
    turned = moved(MultiHeadAttention(16, 4, position=scheme_of(RotaryPosition)))
    with torch.no_grad():
        slot = Slot()
        layer(x[:, :3], mask=Causal(), positions=at[:3], cache=slot)
        with pytest.raises(ValueError, match=r"positions are for 3 queries.*pass all 6"):
            layer(x[:, 3:], mask=Causal(), positions=at[3:], cache=slot)
        with pytest.raises(ValueError, match=r"positions are missing"):
            layer(x[:, :3], memory=memory, cache=Slot())
        whole, slot = turned(x, mask=Causal(), positions=at), Slot()
        steps = [turned(x[:, :3], mask=Causal(), positions=at[:3], cache=slot)]
        steps += [turned(x[:, 3:], mask=Causal(), positions=at[3:], cache=slot)]
    assert (whole - torch.cat(steps, 1)).abs().max() < 1e-9


def test_a_slot_of_a_memory_alone_is_reordered() -> None:
    """The layer alone, without a self-attention that fills the slot."""
    layer, index = moved(MultiHeadAttention(16, 4, position=scheme_of(ALiBi))), [1, 1, 0]
    x, memory, there = random_rows(2, T, 16), random_rows(2, S, 16, seed=8), texts("apart", S, 3)[0]
    at = torch.arange(T)
    with torch.no_grad():
        whole, slot = layer(x, memory=memory, memory_positions=there), Slot()
        given = {"memory": memory, "memory_positions": there, "positions": at[:3]}
        layer(x[:, :3], **given, cache=slot)
        slot.reorder(torch.tensor(index))
        given = {"memory": memory[index], "memory_positions": there[index], "positions": at[3:]}
        rest = layer(x[index, 3:], **given, cache=slot)
    assert (whole[index, 3:] - rest).abs().max() < 1e-9


@pytest.mark.parametrize("part", SCHEMES, ids=lambda part: part.__name__)
def test_grouped_queries_are_copied_heads(part: type[nn.Module]) -> None:
    """Two key heads for four query heads = four key heads, two and two alike."""
    scheme, x = scheme_of(part), random_rows(2, T, 16)
    grouped = moved(MultiHeadAttention(16, 4, n_kv_heads=2, position=scheme))
    plain = MultiHeadAttention(16, 4, position=scheme).double()
    plain.q, plain.out = grouped.q, grouped.out
    for name in ("weight", "bias"):
        heads = getattr(grouped.kv, name).unflatten(0, (2, 2, 4))
        copied = heads.repeat_interleave(2, 1).flatten(0, 2)
        getattr(plain.kv, name).data.copy_(copied)
    assert (grouped(x, mask=Causal()) - plain(x, mask=Causal())).abs().max() < 1e-9


def attend(scheme: Position, x: Tensor, **given: Any) -> Callable[[], Tensor]:
    return lambda: MultiHeadAttention(16, 4, position=scheme)(x, **given)


def heads(n: int, length: int = 3, width: int = 4) -> Tensor:
    return torch.zeros(2, n, length, width)


X, AT = torch.zeros(2, 3, 16), torch.arange(3)
OTHER_SIZES: dict[str, tuple[Callable[[], object], str]] = {
    "rotary, 2 wide": (attend(RotaryPosition(2), X), "2.*4"),
    "rotary, 8 wide": (attend(RotaryPosition(8), X), "8.*4"),
    "Shaw, 1 wide": (attend(ShawPosition(1, 2), X), "d_head=1.*4"),
    "ALiBi, 1 head": (attend(ALiBi(1), X), "n_heads=1.*4"),
    "ALiBi, 3 heads": (attend(ALiBi(3), X), "n_heads=3.*4"),
    "T5, 1 head": (attend(T5Bias(1), X), "n_heads=1.*4"),
    "T5, 8 heads": (attend(T5Bias(8), X), "n_heads=8.*4"),
    "Music, 1 head": (attend(MusicPosition(1, 4, 3), X), "n_heads=1.*4"),
    "Music, 1 wide": (attend(MusicPosition(4, 1, 3), X), "d_head=1.*4"),
    "XL, 1 head": (attend(XLPosition(16, 1, 4), X), "n_heads=1.*4"),
    "XL, 1 wide": (attend(XLPosition(16, 4, 1), X), "d_head=1.*4"),
    "Gaussian, 3 heads": (attend(GaussianPrior(3), X), "n_heads=3.*4"),
    "table, 1 head": (attend(TablePrior(1, 9), X), "n_heads=1.*4"),
    "tree, 1 wide": (attend(StructuralPosition(16, 1, 3), X), "d_head=1.*4"),
    "waves, 1 wide": (lambda: SinusoidalPosition(1).embed(X, AT), "d_model=1.*16"),
    "rows, 1 wide": (lambda: LearnedPosition(8, 1).embed(X, AT), "d_model=1.*16"),
    "folded, 2 wide": (lambda: AxialPosition((2, 4), (1, 1)).embed(X, AT), "d_model=2.*16"),
    "tree, rows": (lambda: StructuralPosition(1, 4, 3).embed(X, AT), "d_model=1.*16"),
    "waves in no steps": (lambda: BlockedSinusoidalPosition(2, steps=0), "steps=0"),
    "keys of other heads": (lambda: ALiBi(4).bias(heads(4), heads(2), AT, AT), "4 heads.*2"),
}


@pytest.mark.parametrize("name", OTHER_SIZES)
def test_sizes_that_do_not_fit_are_refused(name: str) -> None:
    """None is broadcast: the message names the size of the scheme and the size that came."""
    call, says = OTHER_SIZES[name]
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize("shape", [(1,), (2,), (4,), (1, 3), (3, 3), (2, 1), (2, 1, 3), ()])
@pytest.mark.parametrize("part", [*SCHEMES, StructuralPosition], ids=lambda part: part.__name__)
def test_positions_of_another_shape_are_refused(
    part: type[nn.Module], shape: tuple[int, ...]
) -> None:
    """For two texts of three rows, (3,) and (2, 3) fit: in the layer, and in each method alone."""
    tree = StructuralPosition(16, 4, 3).double()
    scheme = tree if part is StructuralPosition else scheme_of(part)
    wrong, rows = torch.zeros(shape).long(), heads(4).double()
    calls = {
        "embed": lambda: scheme.embed(X.double(), wrong),
        "rotate": lambda: scheme.rotate(rows, wrong),
        "bias": lambda: scheme.bias(rows, rows, wrong, AT),
    }
    silent = {name for name in calls if getattr(type(scheme), name) is getattr(Position, name)}
    for name in calls.keys() - silent:
        with pytest.raises(ValueError, match=r"positions.*\(3,\) or \(2, 3\)"):
            calls[name]()
    for given in ({"positions": wrong}, {"memory": X.double(), "memory_positions": wrong}):
        with pytest.raises(ValueError, match=r"positions.*\(3,\) or \(2, 3\)"):
            MultiHeadAttention(16, 4, position=scheme).double()(X.double(), **given)


def test_a_value_outside_a_table_is_named() -> None:
    """The value that came, be it below 0 or beyond the end."""
    tables: list[Callable[[Tensor], object]] = [
        lambda at: LearnedPosition(8, 16).embed(X, at),
        lambda at: AxialPosition((2, 4), (8, 8)).embed(X, at),
        lambda at: TablePrior(4, 8).bias(heads(4), heads(4), at, AT),
        lambda at: TablePrior(4, 8).bias(heads(4), heads(4), AT, at),
    ]
    for call in tables:
        with pytest.raises(ValueError, match=r"-1 .*start at 0"):
            call(torch.tensor([0, -1, 2]))
        with pytest.raises(ValueError, match=r"\b9 "):
            call(torch.tensor([0, 9, 2]))
        with pytest.raises(ValueError, match=r"-1 "):
            call(torch.tensor([-1, 9, 2]))


def test_a_query_before_all_keys_is_refused_where_only_the_past_has_a_worth() -> None:
    """All keys ahead of it, or of one of them."""
    for at, alone in ((torch.arange(3), 0), (torch.tensor([6, 0, 7]), 0)):
        with pytest.raises(ValueError, match=rf"query at {alone} .* 5"):
            MusicPosition(4, 4, 3).bias(heads(4), heads(4), at, torch.arange(5, 8))


def test_shaw_s_values_want_queries_among_the_keys() -> None:
    """More queries than keys, and foreign rows, have no offset for their values."""
    mechanism = ShawAttention(4, 2)
    for more in (4, 5):
        with pytest.raises(ValueError, match=f"{more} queries.*3 keys"):
            mechanism(heads(4, more), heads(4), heads(4))
    layer = MultiHeadAttention(16, 4, mechanism=mechanism, position=ShawPosition(4, 2))
    with pytest.raises(ValueError, match=r"memory.*ShawAttention"):
        layer(X, memory=X)


def test_roformer_names_the_number_of_heads() -> None:
    for n_heads, says in ((3, "n_heads=3.*d_model=16"), (16, "n_heads=16.*d_model=16"), (0, "n_h")):
        with pytest.raises(ValueError, match=says):
            roformer(vocab_size=16, d_model=16, n_heads=n_heads, n_layers=1, d_ff=16)

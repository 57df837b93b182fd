"""Grid LSTM against a nested loop over torch.nn.LSTMCell, and against stacked torch.nn.LSTM."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from unittest import mock

import pytest
import torch
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn

from deepdive.recurrent import GridBlock, GridLSTM, MemorySide, PlainSide, RecurrentState, walk
from deepdive.recurrent.grid import DEPTH, TIME, memory_in_time

Weights = dict[str, tuple[Tensor, Tensor]]


def rows(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def leaf(weight: Tensor) -> Tensor:
    return weight.detach().clone().requires_grad_()


class Cell:
    """A side with memory as torch.nn.LSTMCell: its own h is the state, the others' the input."""

    def __init__(self, side: MemorySide, n: int, n_sides: int, pairs: Weights) -> None:
        self.W, self.b = leaf(side.W.weight), leaf(side.W.bias)
        pairs[f"W {len(pairs)}"], pairs[f"b {len(pairs)}"] = (
            (side.W.weight, self.W),
            (side.W.bias, self.b),
        )
        self.n, self.d = n, side.W.out_features // 4
        self.cell = nn.LSTMCell((n_sides - 1) * self.d, self.d).double()

    def __call__(self, hidden: list[Tensor], m: Tensor) -> tuple[Tensor, Tensor]:
        parts = list(self.W.split(self.d, dim=1))
        own, others = parts.pop(self.n), torch.cat([*parts, self.W[:, :0]], dim=1)
        names = {"weight_ih": others, "weight_hh": own, "bias_ih": self.b}
        names["bias_hh"] = torch.zeros_like(self.b)
        given = [h for i, h in enumerate(hidden) if i != self.n]
        x = torch.cat([*given, hidden[0][:, :0]], dim=1)
        return torch.func.functional_call(self.cell, names, (x, (hidden[self.n], m)))


@parity(MemorySide, PlainSide, GridBlock)
def grids() -> None:
    """Grids of one, two and three dimensions, all places, with a side that is computed last."""
    for shape, last, plain in [
        ((4,), None, False),
        ((3, 4), None, False),
        ((3, 4), 1, False),
        ((2, 3, 2), 0, True),
    ]:
        N, d = len(shape), 3
        blocks, cells, pairs = {}, {}, {}
        for at in itertools.product(*map(range, shape)):
            sides: list[nn.Module] = [MemorySide(N, d) for _ in range(N)]
            if plain:
                sides[-1] = PlainSide(N, d)
            blocks[at] = perturb(GridBlock(sides, last).double(), seed=sum(at))
            cells[at] = [
                leaf(side.V.weight) if isinstance(side, PlainSide) else Cell(side, n, N, pairs)
                for n, side in enumerate(sides)
            ]
            if plain:
                pairs[f"V {at}"] = (sides[-1].V.weight, cells[at][-1])
        edge = rows(N, 2, 5, d).requires_grad_()
        edge_too = leaf(edge)
        pairs["edge"] = (edge, edge_too)
        sent = walk(blocks.__getitem__, shape, edge)
        told: dict[tuple[int, ...], tuple[list[Tensor], list[Tensor]]] = {}
        for at in itertools.product(*map(range, shape)):
            h, m = [], []
            for n in range(N):
                back = tuple(a - (i == n) for i, a in enumerate(at))
                before = told[back] if at[n] else (edge_too[:, 0], edge_too[:, 1])
                h.append(before[0][n])
                m.append(before[1][n])
            told[at] = one_block(cells[at], h, m, last)
        ours, theirs = flat(sent), flat(told)
        equal(ours, theirs)
        equal_gradients(ours, theirs, pairs)


def one_block(
    cells: list[object], h: list[Tensor], m: list[Tensor], last: int | None
) -> tuple[list[Tensor], list[Tensor]]:
    order = [n for n in range(len(h)) if n != last] + ([] if last is None else [last])
    new_h, new_m = list(h), list(m)
    for n in order:
        read = new_h if n == last else h
        if isinstance(cells[n], Cell):
            new_h[n], new_m[n] = cells[n](read, m[n])
        else:
            new_h[n] = torch.cat(read, dim=1) @ cells[n].T
    return new_h, new_m


def flat(sent: dict[tuple[int, ...], tuple[list[Tensor], list[Tensor]]]) -> Tensor:
    return torch.cat([torch.stack(h + m).flatten() for h, m in sent.values()])


@parity(GridLSTM)
def sequence() -> None:
    """Time by depth in two nested loops of LSTMCell; and layers of torch's LSTM, its limit."""
    ours, x, pairs = perturb(GridLSTM(6, 5, 3).double()), rows(4, 7, 6), {}
    W, b = leaf(ours.W.weight), leaf(ours.W.bias)
    pairs |= {"in": (ours.W.weight, W), "in b": (ours.W.bias, b)}
    cells = [[Cell(block.sides[n], n, 2, pairs) for n in (TIME, DEPTH)] for block in ours.blocks]
    h_time, m_time = [[torch.zeros(4, 5).double()] * 3 for _ in range(2)]
    tops = []
    for t in range(7):
        h, m = (x[:, t] @ W.T + b).split(5, dim=1)
        for layer, (time, depth) in enumerate(cells):
            h_time[layer], m_time[layer] = time([h_time[layer], h], m_time[layer])
            h, m = depth([h_time[layer], h], m)
        tops.append(h)
    state, theirs = RecurrentState(), torch.stack(tops, dim=1)
    states = ours(x, None, state)
    equal(states, theirs)
    equal_gradients(states, theirs, pairs)
    equal(state[2].values[0], h_time[2])
    equal(state[1].values[1], m_time[1])
    stacked_by_torch()


def stacked_by_torch() -> None:
    ours = GridLSTM(6, 5, 3, lambda layer: memory_in_time(5)).double()
    with torch.no_grad():
        for block in ours.blocks:
            perturb(block.sides[TIME])
    oracle, names = nn.LSTM(5, 5, 3, batch_first=True).double(), {}
    for layer, block in enumerate(ours.blocks):
        U, W = block.sides[TIME].W.weight.split(5, dim=1)
        names |= {f"weight_ih_l{layer}": W, f"weight_hh_l{layer}": U}
        names |= {f"bias_ih_l{layer}": block.sides[TIME].W.bias}
        names |= {f"bias_hh_l{layer}": torch.zeros(20).double()}
    oracle.load_state_dict({name: weight.detach() for name, weight in names.items()})
    x = rows(4, 7, 6)
    equal(ours(x), oracle(ours.W(x)[..., :5])[0])


@pytest.mark.parametrize("proof", [grids, sequence], ids=lambda proof: proof.__name__)
def test_parity(proof: Callable[[], None]) -> None:
    proof()


def deaf_to_the_new(self: GridBlock, h: list[Tensor], m: list[Tensor]) -> object:
    """The last side reads what came in, not what the others have just said."""
    sent = [side(torch.cat(list(h), -1), h[n], m[n]) for n, side in enumerate(self.sides)]
    return [a for a, _ in sent], [b for _, b in sent]


def memory_not_kept(self: MemorySide, H: Tensor, h: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
    i, _, g, o = self.W(H).chunk(4, dim=-1)
    m = torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(m), m


def as_printed(self: MemorySide, H: Tensor, h: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = self.W(H).chunk(4, dim=-1)
    m = torch.sigmoid(f) * m + torch.sigmoid(i) * torch.tanh(g)
    return torch.tanh(torch.sigmoid(o) * m), m


MISTAKES = {
    "the last side waits for nobody": (grids, GridBlock, deaf_to_the_new),
    "a sequence's depth waits for nobody": (sequence, GridBlock, deaf_to_the_new),
    "the memory is not kept": (grids, MemorySide, memory_not_kept),
    "tanh after the gate": (sequence, MemorySide, as_printed),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_seen(name: str) -> None:
    proof, part, mistake = MISTAKES[name]
    with (
        mock.patch.object(part, "forward", mistake),
        pytest.raises(AssertionError, match="differ"),
    ):
        proof()


def test_memory_climbs_past_layers_that_admit_nothing() -> None:
    """Depth with f = 1 and i = 0: what enters below leaves above, as through residuals."""
    grid = GridLSTM(4, 4, 6).double()
    with torch.no_grad():
        for block in grid.blocks:
            block.sides[DEPTH].W.weight.zero_()
            for gate, bias in zip(
                block.sides[DEPTH].W.bias.chunk(4), (-60.0, 60.0, 0.0, 60.0), strict=True
            ):
                gate.fill_(bias)
    x = rows(2, 3, 4)
    torch.testing.assert_close(grid(x), torch.tanh(grid.W(x)[..., 4:]), rtol=0, atol=1e-12)


def test_padding_moves_no_memory() -> None:
    grid, x = GridLSTM(4, 3, 2).double(), rows(2, 5, 4)
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()
    x[~mask] = float("nan")
    state, alone = RecurrentState(), RecurrentState()
    states = grid(x, mask, state)
    expected = grid(x[:1, :3], None, alone)
    torch.testing.assert_close(states[:1, :3], expected, rtol=0, atol=1e-12)
    assert (states[0, 3:] == 0).all()
    for layer in range(2):
        for a, b in zip(state[layer].values, alone[layer].values, strict=True):
            torch.testing.assert_close(a[:1], b, rtol=0, atol=1e-12)


def test_one_block_for_all_layers_ties_the_depth() -> None:
    block = memory_in_time(4)
    grid = GridLSTM(4, 4, 3, lambda layer: block)
    assert sum(p.numel() for p in grid.parameters()) == 4 * 8 + 8 + sum(
        p.numel() for p in block.parameters()
    )

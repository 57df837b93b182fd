"""Hopfield's network: its energy, its memories and how many there are; and the modern form's."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import random_rows
from torch import Tensor

from deepdive.core import MultiHeadAttention, SoftmaxAttention
from deepdive.models.classic.boltzmann import all_states
from deepdive.models.classic.hopfield import Hopfield, ModernHopfield, as_attention, hebbian


def draw(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def signs(*shape: int, seed: int = 0) -> Tensor:
    return 2.0 * torch.randint(2, shape, generator=draw(seed), dtype=torch.float64) - 1


def symmetric(N: int, seed: int) -> Tensor:
    """Any links, not Hebb's: whole numbers, so that sums are exact and fields of 0 come up."""
    half = torch.randint(-3, 4, (N, N), generator=draw(seed)).double().triu(1)
    return half + half.T


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10**6), st.data())
def test_energy_never_rises_in_any_order(N: int, seed: int, data: st.DataObject) -> None:
    """By exactly (new - old) field_i, for any symmetric links, unit by unit."""
    network, state = Hopfield(symmetric(N, seed)), signs(N, seed=seed + 1)
    for i in data.draw(st.lists(st.integers(0, N - 1), min_size=1, max_size=30)):
        moved = network.update(state, i)
        fall = -(moved[i] - state[i]) * network.field(state)[i]
        assert network.energy(moved) - network.energy(state) == fall <= 0
        assert torch.equal(moved.sign().abs(), torch.ones(N).double())
        state = moved


def test_energy_is_the_sum_over_pairs() -> None:
    W, state = symmetric(6, 3), signs(6)
    pairs = sum(W[i, j] * state[i] * state[j] for i in range(6) for j in range(i))
    assert Hopfield(W).energy(state) == -pairs


def test_a_recall_ends_where_no_unit_moves() -> None:
    network, starts = Hopfield(symmetric(10, 1)), all_states(10) * 2 - 1
    ends = network.recall(starts, draw(0))
    for i in range(10):
        assert torch.equal(network.update(ends, i), ends)
    assert (network.energy(ends) <= network.energy(starts)).all()


def test_all_units_at_once_may_raise_the_energy_and_never_end() -> None:
    """Why units are set one after the other: two that want to agree change places for ever."""
    network, state = Hopfield(torch.tensor([[0.0, 1], [1, 0]])), torch.tensor([1.0, -1])
    together = network.field(state).sign()
    assert torch.equal(together, -state)
    three = Hopfield(-(torch.ones(3, 3) - torch.eye(3)))
    up = torch.tensor([1.0, 1, -1])
    assert three.energy(three.field(up).sign()) >= three.energy(up)


@pytest.mark.parametrize("W", [torch.triu(torch.ones(3, 3), 1), torch.ones(3, 3)])
def test_links_that_could_raise_the_energy_are_refused(W: Tensor) -> None:
    with pytest.raises(ValueError, match="symmetric"):
        Hopfield(W)


def test_what_cannot_be_stored_is_named() -> None:
    with pytest.raises(ValueError, match="2 \\* bits - 1"):
        hebbian(torch.tensor([[0.0, 1.0]]))
    with pytest.raises(ValueError, match="expected \\(N, N\\)"):
        Hopfield(torch.zeros(2, 3))


def test_orthogonal_patterns_are_memories_and_so_are_their_negatives() -> None:
    rows = torch.ones(1, 1).double()
    for _ in range(5):  # Sylvester's Hadamard matrix: 32 orthogonal rows
        rows = torch.cat([torch.cat([rows, rows], 1), torch.cat([rows, -rows], 1)])
    network, patterns = hebbian(rows[1:12]), rows[1:12]
    assert torch.equal(network.field(patterns), (32 - 11) * patterns)
    for stored in (patterns, -patterns):
        assert torch.equal(network.recall(stored, draw(0)), stored)


@pytest.mark.parametrize("N", [200, 800])
def test_below_capacity_every_pattern_is_a_memory(N: int) -> None:
    """S = N / (4 ln N) random patterns are all fixed, every unit of them (McEliece et al. 1987);
    ten times as many are not."""
    for times, expected in ((1, True), (10, False)):
        patterns = signs(times * round(N / (4 * math.log(N))), N, seed=N)
        network = hebbian(patterns)
        assert bool((network.field(patterns) * patterns > 0).all()) == expected


@pytest.mark.parametrize("load", [0.15, 0.25, 0.4])
def test_wrong_bits_come_at_the_rate_of_the_crosstalk(load: float) -> None:
    """The other patterns add noise of variance load: a bit is wrong with the normal's tail."""
    N = 1500
    patterns = signs(round(load * N), N, seed=7)
    wrong = (hebbian(patterns).field(patterns) * patterns < 0).double().mean().item()
    expected = 0.5 * math.erfc(1 / math.sqrt(2 * (len(patterns) - 1) / N))
    assert abs(wrong / expected - 1) < 0.1


def recalled(load: float, N: int, seed: int) -> float:
    """How many of 25 patterns stay where they were stored, nine bits in ten and more agreeing."""
    patterns = signs(round(load * N), N, seed=seed).float()
    some = patterns[:25]
    ends = hebbian(patterns).recall(some, draw(seed))
    return ((ends * some).mean(-1) > 0.8).double().mean().item()


def test_capacity_is_a_fixed_share_of_the_units() -> None:
    """Amit, Gutfreund and Sompolinsky's 0.138 N: the same load below it holds at every size, and
    above it the share that holds falls as the network grows."""
    below = [recalled(0.11, N, seed=1) for N in (100, 200, 400, 800)]
    assert min(below) >= 0.95
    small, large = (
        sum(recalled(0.2, N, seed) for seed in range(6)) / 6 if N < 800 else recalled(0.2, N, 0)
        for N in (200, 800)
    )
    assert large < 0.25 < small - 0.15


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.floats(0.05, 20), st.integers(0, 10**6))
def test_modern_step_is_attention_and_never_raises_the_energy(
    S: int, d: int, beta: float, seed: int
) -> None:
    network = ModernHopfield(random_rows(S, d, seed=seed), beta)
    state = random_rows(2, 3, d, seed=seed + 1).requires_grad_()
    step, rows = network(state), network.patterns.expand(2, 1, S, d)
    attended = SoftmaxAttention()(state[:, None], rows, rows, scale=beta)[:, 0]
    one_head = as_attention(network)(state, memory=network.patterns.expand(2, S, d))
    assert (step - attended).abs().max() < 1e-12
    assert (step - one_head).abs().max() < 1e-12
    assert (network.energy(step) <= network.energy(state) + 1e-12).all()
    (gradient,) = torch.autograd.grad(network.energy(state).sum(), state)
    assert (step - (state - gradient)).abs().max() < 1e-10


def test_modern_step_is_attention_in_single_precision() -> None:
    network = ModernHopfield(random_rows(9, 12).float(), 0.5)
    state = random_rows(2, 4, 12, seed=1).float()
    attention: MultiHeadAttention = as_attention(network)
    assert (
        network(state) - attention(state, memory=network.patterns.expand(2, 9, 12))
    ).abs().max() < 1e-6


def error_bound(network: ModernHopfield, state: Tensor, i: int) -> Tensor:
    """What the distance of network(state) from pattern i cannot exceed, (...).

        2 (S - 1) M exp(-beta (separation - 2 M |state - pattern_i|))

    M is the largest norm of a pattern, the separation the least of pattern_i . (pattern_i -
    pattern_j). Ramsauer et al. 2021, theorem 5, for one step from `state`.
    """
    patterns = network.patterns
    x, largest = patterns[i], patterns.norm(dim=1).max()
    others = torch.arange(len(patterns)) != i
    separation = (x @ (x - patterns[others]).T).amin() if others.any() else largest * 0
    near = separation - 2 * largest * (state - x).norm(dim=-1)
    return 2 * others.sum() * largest * (-network.beta * near).exp()


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10), st.integers(1, 6), st.floats(0.1, 10), st.integers(0, 10**6))
def test_retrieval_error_is_within_its_bound(S: int, d: int, beta: float, seed: int) -> None:
    network = ModernHopfield(random_rows(S, d, seed=seed), beta)
    state = network.patterns[0] + 0.05 * random_rows(20, d, seed=seed + 1)
    error = (network(state) - network.patterns[0]).norm(dim=-1)
    assert (error <= error_bound(network, state, 0) + 1e-12).all()


def test_retrieval_error_falls_at_the_rate_of_its_bound() -> None:
    """From a pattern itself the error is exp(-beta separation) times a constant: the logarithms of
    error and bound fall by the separation as beta grows by one."""
    patterns = random_rows(6, 8, seed=3)
    others = patterns[1:]
    separation = (patterns[0] @ (patterns[0] - others).T).min().item()
    assert separation > 1
    logs = []
    for beta in (4.0, 5.0):
        network = ModernHopfield(patterns, beta)
        error = (network(patterns[0]) - patterns[0]).norm()
        logs.append((error.log().item(), error_bound(network, patterns[0], 0).log().item()))
    for slope in (a - b for a, b in zip(*logs, strict=True)):
        assert abs(slope / separation - 1) < 0.02


def retrieved(d: int, S: int) -> float:
    """The share of S random patterns on a sphere of radius sqrt(d - 1) that come back within a
    tenth of the radius (beta 1), over as many draws as 800 patterns take."""
    shares, radius = [], math.sqrt(d - 1)
    for seed in range(max(1, 800 // S)):
        rows = random_rows(S, d, seed=seed)
        network = ModernHopfield(radius * rows / rows.norm(dim=1, keepdim=True))
        asked = network.patterns[:800].detach()
        shares.append(((network(asked) - asked).norm(dim=1) < 0.1 * radius).double().mean().item())
    return sum(shares) / len(shares)


def capacity(d: int) -> int:
    """The largest power of two of patterns of which 95 in 100 come back."""
    S = 2
    while retrieved(d, 2 * S) >= 0.95:
        S *= 2
    return S


def test_modern_capacity_grows_exponentially() -> None:
    """Theorem 3 of Ramsauer et al. 2021: a constant factor for each dimension. The classical
    network has 0.138 more patterns for one more unit."""
    found = {d: capacity(d) for d in (8, 10, 12, 14)}
    for d in (8, 10, 12):
        assert found[d + 2] >= 2 * found[d], found
    assert found[14] > 100 * 0.138 * 14, found

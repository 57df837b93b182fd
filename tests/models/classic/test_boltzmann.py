"""RBM and DBN against brute force: every state of a small machine, one by one."""

from __future__ import annotations

import pytest
import torch
from laws import random_rows
from parity_registry import perturb
from torch import Tensor, nn

from deepdive.models.classic.boltzmann import (
    DBN,
    RBM,
    all_states,
    classifier,
    contrastive_divergence,
    pretrain,
    train_rbm,
)

V, H = 5, 3


def machine(n_visible: int = V, n_hidden: int = H, size: float = 0.8) -> RBM:
    return perturb(RBM(n_visible, n_hidden).double(), size=size)


def joint(rbm: RBM) -> Tensor:
    """p(v, h) of all states, (2^V, 2^H), from the energy alone."""
    n_hidden, n_visible = rbm.W.shape
    weights = (-rbm.energy(all_states(n_visible)[:, None], all_states(n_hidden))).exp()
    return weights / weights.sum()


def gradient(loss: Tensor, rbm: RBM) -> Tensor:
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(rbm.parameters()))])


def test_all_states_are_all() -> None:
    states = all_states(4)
    assert states.shape == (16, 4)
    assert len({tuple(row) for row in states.tolist()}) == 16


def test_energy_is_the_sum_over_units_and_links() -> None:
    rbm, v, h = machine(), all_states(V)[11], all_states(H)[5]
    links = sum(h[j] * rbm.W[j, i] * v[i] for j in range(H) for i in range(V))
    written = -(rbm.b * v).sum() - (rbm.c * h).sum() - links
    assert (rbm.energy(v, h) - written).abs() < 1e-12


@pytest.mark.parametrize(("n_visible", "n_hidden"), [(5, 3), (3, 5)])
def test_free_energy_partition_and_conditionals_by_brute_force(
    n_visible: int, n_hidden: int
) -> None:
    rbm = machine(n_visible, n_hidden)
    v, h, p = all_states(n_visible), all_states(n_hidden), joint(rbm)
    assert (rbm.log_partition() - (-rbm.energy(v[:, None], h)).logsumexp((0, 1))).abs() < 1e-12
    assert (rbm.log_likelihood(v).exp() - p.sum(1)).abs().max() < 1e-12
    assert (rbm.hidden(v) - (p @ h) / p.sum(1, keepdim=True)).abs().max() < 1e-12
    assert (rbm.visible(h) - (p.T @ v) / p.sum(0)[:, None]).abs().max() < 1e-12


def test_gradient_of_the_likelihood_is_data_less_model() -> None:
    """E_data[h v] - E_model[h v], and the means for the biases: summed over all states."""
    rbm, data = machine(), all_states(V)[torch.tensor([3, 7, 7, 30])]
    p, v, h = joint(rbm), all_states(V), all_states(H)
    up = rbm.hidden(data)
    by_hand = (
        torch.einsum("nj,ni->ji", up, data) / 4 - torch.einsum("vh,hj,vi->ji", p, h, v),
        data.mean(0) - p.sum(1) @ v,
        up.mean(0) - p.sum(0) @ h,
    )
    for parameter, expected in zip((rbm.W, rbm.b, rbm.c), by_hand, strict=True):
        (found,) = torch.autograd.grad(rbm.log_likelihood(data).mean(), parameter)
        assert (found - expected).abs().max() < 1e-12


def transitions(rbm: RBM) -> Tensor:
    """p(v' | v) of one Gibbs step between all states, (2^V, 2^V)."""
    p = joint(rbm)
    return (p / p.sum(1, keepdim=True)) @ (p / p.sum(0)).T


def chance(rbm: RBM, data: Tensor) -> Tensor:
    """The share of each state in data, (2^V,)."""
    return (all_states(V)[:, None] == data).all(-1).double().mean(1)


def expected_cd(rbm: RBM, data: Tensor, k: int) -> Tensor:
    """The gradient of CD-k averaged over all that could be drawn."""
    drawn = chance(rbm, data) @ torch.linalg.matrix_power(transitions(rbm), k)
    model = (drawn.detach() * rbm.free_energy(all_states(V))).sum()
    return gradient(rbm.free_energy(data).mean() - model, rbm)


DATA = all_states(V)[torch.tensor([3, 7, 7, 30])]


def test_a_gibbs_step_keeps_the_distribution_and_is_drawn_by_its_probabilities() -> None:
    rbm = machine()
    T, p = transitions(rbm), joint(rbm).sum(1)
    assert (p @ T - p).abs().max() < 1e-12
    start = all_states(V)[9].expand(40_000, V)
    drawn = rbm.gibbs(start, torch.Generator().manual_seed(0))
    assert (chance(rbm, drawn) - T[9]).abs().max() < 0.01


def test_cd_k_approaches_the_gradient_at_the_rate_of_its_chain() -> None:
    """Each step more multiplies the error by the chain's second eigenvalue."""
    rbm = machine()
    exact = gradient(-rbm.log_likelihood(DATA).mean(), rbm)
    second = torch.linalg.eigvals(transitions(rbm)).abs().sort().values[-2].item()
    errors = [(expected_cd(rbm, DATA, k) - exact).norm().item() for k in (1, 2, 4, 8, 16, 17)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-2 * errors[0]
    assert abs(errors[-1] / errors[-2] - second) < 0.02 * second


@pytest.mark.parametrize("k", [1, 3])
def test_drawn_cd_k_is_the_expected_one(k: int) -> None:
    """Four times as many draws, half the error; and no part of it stays."""
    rbm, expected, errors = machine(), None, []
    expected = expected_cd(rbm, DATA, k)
    for copies in (500, 50_000):
        rows = DATA.repeat(copies, 1)
        drawn = [
            gradient(contrastive_divergence(rbm, rows, k, torch.Generator().manual_seed(s)), rbm)
            for s in range(8)
        ]
        errors.append(sum((g - expected).norm().item() for g in drawn) / 8)
    assert 5 < errors[0] / errors[1] < 20  # a hundred times as many: a tenth of it


def test_training_raises_the_likelihood() -> None:
    torch.manual_seed(0)
    rbm = RBM(6, 4).double()
    rows = (all_states(6).sum(1) == 2).nonzero()[:, 0]
    data = all_states(6)[rows].repeat(4, 1)
    before = rbm.log_likelihood(data).mean()
    train_rbm(rbm, data, epochs=60, generator=torch.Generator().manual_seed(0))
    assert rbm.log_likelihood(data).mean() > before + 0.3


def test_a_second_layer_turned_over_changes_nothing() -> None:
    """Why layers can be put over one another: the hidden states of the first are, to begin with,
    just as likely under the second (Hinton et al. 2006, section 4)."""
    below, above = machine(V, H), RBM(H, V).double()
    with torch.no_grad():
        above.W.copy_(below.W.T)
        above.b.copy_(below.c)
        above.c.copy_(below.b)
    assert (above.log_likelihood(all_states(H)).exp() - joint(below).sum(0)).abs().max() < 1e-12


def test_layers_learn_from_the_bottom_up_without_labels() -> None:
    dbn, x = DBN((12, 8, 6)), random_rows(64, 12).sigmoid().float()
    before = [p.detach().clone() for p in dbn.parameters()]
    pretrain(dbn, x, epochs=2, generator=torch.Generator().manual_seed(0))
    assert not any(torch.equal(p, q) for p, q in zip(dbn.parameters(), before, strict=True))
    alone = DBN((12, 8))
    alone.load_state_dict(dict(zip(alone.state_dict(), before, strict=False)))
    pretrain(alone, x, epochs=2, generator=torch.Generator().manual_seed(0))
    assert torch.equal(alone.layers[0].W, dbn.layers[0].W)  # what is above does not matter


def test_fine_tuning_starts_from_the_dbn_and_leaves_it_alone() -> None:
    dbn, x = DBN((6, 5, 4)), random_rows(3, 6).sigmoid().float()
    network = classifier(dbn, 10)
    assert network(x).shape == (3, 10)
    assert not network(x).any()
    kept = dbn.layers[0].W.detach().clone()
    loss = nn.functional.cross_entropy(network(x), torch.tensor([1, 2, 3]))
    optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
    for _ in range(2):  # the output layer is at 0: the first step moves it alone
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(x), torch.tensor([1, 2, 3]))
        loss.backward()
        optimizer.step()
    assert not torch.equal(network[0].weight, kept)
    assert torch.equal(dbn.layers[0].W, kept)

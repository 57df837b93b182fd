"""Neurons before attention: truth tables, Hebb's sum, mistakes counted, slopes by hand, maps."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from parity_registry import equal, perturb
from scipy.optimize import linprog
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron as Reference
from torch import Tensor

from deepdive.models.classic.hebb import Hebb, oja
from deepdive.models.classic.lenet import lenet, squash, zip_code
from deepdive.models.classic.mlp import MLP, SIGMOID, TANH, Activation, backward, forward
from deepdive.models.classic.perceptron import Perceptron, mistake_bound
from deepdive.models.classic.threshold import ThresholdUnit, at_least, veto, xor

BITS = torch.tensor(list(product([0.0, 1.0], repeat=2)))
XOR = torch.tensor([-1, 1, 1, -1])


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# -- the threshold logic unit


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_unit_counts_its_inputs_and_a_veto_silences_it(n: int) -> None:
    for bits in product([0.0, 1.0], repeat=n):
        for k in range(1, n + 1):
            assert at_least(k, n)(torch.tensor(bits)) == (sum(bits) >= k)
            assert veto(k, n)(torch.tensor([*bits, 0.0])) == (sum(bits) >= k)
            assert veto(k, n)(torch.tensor([*bits, 1.0])) == 0


def test_three_units_are_xor() -> None:
    assert xor(BITS).tolist() == [0, 1, 1, 0]
    assert xor(BITS.reshape(2, 2, 2)).shape == (2, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: at_least(0, 2),
        lambda: at_least(3, 2),
        lambda: at_least(1, 2)(torch.zeros(4, 3)),
        lambda: ThresholdUnit(torch.zeros(2, 2), 0.0),
        lambda: Hebb(0, 2),
        lambda: Hebb(3, 2).learn(torch.zeros(4, 3), torch.zeros(5, 2)),
        lambda: Perceptron(0),
        lambda: Perceptron(2, torch.zeros(3)),
        lambda: Perceptron(2).learn(BITS, torch.tensor([0, 1, 1, 0])),
        lambda: Perceptron(2).learn(BITS[:3], XOR),
        lambda: mistake_bound(BITS, XOR, torch.ones(2), 0.0),
    ],
)
def test_what_does_not_fit_is_refused_with_the_way_out(call: object) -> None:
    with pytest.raises(ValueError, match=r"expected|give|must be"):
        call()  # type: ignore[operator]


# -- Hebb's rule


def test_hebb_is_the_sum_of_outer_products_in_any_order() -> None:
    x, y = normal(7, 5), normal(7, 3, seed=1)
    at_once, one_by_one = Hebb(5, 3, lr=0.5), Hebb(5, 3, lr=0.5)
    at_once.learn(x, y)
    for i in (3, 0, 6, 1, 5, 2, 4):
        one_by_one.learn(x[i : i + 1], y[i : i + 1])
    by_hand = 0.5 * sum(torch.outer(b, a) for a, b in zip(x, y, strict=True))
    equal(at_once.W, by_hand, 1e-12)
    equal(one_by_one.W, by_hand, 1e-12)


def test_hebb_recalls_rows_at_right_angles_and_mixes_others() -> None:
    x, y = torch.linalg.qr(normal(5, 5))[0], normal(5, 3, seed=1)
    memory = Hebb(5, 3)
    memory.learn(x, y)
    equal(memory.recall(x), y, 1e-12)
    alike = Hebb(2, 1)
    alike.learn(torch.tensor([[1.0, 0.0], [0.6, 0.8]]), torch.tensor([[1.0], [-1.0]]))
    equal(alike.recall(torch.tensor([[1.0, 0.0]])), torch.tensor([[0.4]]).double(), 1e-7)


def test_plain_hebb_grows_without_end_and_oja_finds_the_first_direction() -> None:
    mix = torch.tensor([[2, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0.5, 0], [0, 0, 0, 0.3]])
    x = normal(20_000, 4) @ mix.double()
    w = plain = torch.ones(4, dtype=torch.float64) / 2
    for row in x:
        w = oja(w, row, 0.0005)
    for row in x[:2000]:
        plain = plain + 0.002 * (plain @ row) * row
    first = torch.from_numpy(np.linalg.eigh(np.cov(x.numpy().T))[1][:, -1])
    assert abs(w @ first) > 0.999
    assert abs(w.norm() - 1) < 0.02
    assert plain.norm() > 1000


# -- the perceptron


def clouds(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Whole numbers, in two classes that a line may or may not separate."""
    draw = np.random.default_rng(seed)
    x = draw.integers(-9, 10, (n, 3))
    y = np.where(x @ [2, -1, 1] > draw.normal(0, 3, n), 1, -1)
    return torch.from_numpy(x), torch.from_numpy(y)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lr", [1.0, 0.5])
def test_the_weights_are_scikit_learns_after_any_number_of_passes(seed: int, lr: float) -> None:
    x, y = clouds(40, seed)
    start = normal(3, seed=seed).mul(4).round()
    for passes in (1, 2, 7):
        ours = Perceptron(3, start, b=2.0, lr=lr)
        lesson = ours.learn(x, y, passes)
        assert lesson.circle is None
        theirs = Reference(max_iter=passes, tol=None, shuffle=False, eta0=lr)
        theirs.fit(x.numpy(), y.numpy(), coef_init=start.numpy()[None], intercept_init=[2.0])
        assert ours.w.tolist() == theirs.coef_[0].tolist()
        assert ours.b == theirs.intercept_[0]
        assert ours.decide(x).tolist() == theirs.predict(x.numpy()).tolist()


@pytest.mark.parametrize("seed", range(8))
def test_mistakes_stay_below_novikoffs_bound(seed: int) -> None:
    draw = np.random.default_rng(seed)
    x = torch.from_numpy(draw.normal(size=(60, 2)))
    w, b = torch.tensor([1.0, -2.0]).double(), 0.3
    a = x @ w + b
    x, y = x[a.abs() > 0.2], torch.where(a > 0, 1, -1)[a.abs() > 0.2]
    lesson = Perceptron(2, lr=0.3).learn(x, y, 10_000)
    assert lesson.clean is not None
    assert 0 < len(lesson.mistakes) <= mistake_bound(x, y, w, b)


def test_the_bound_in_whole_numbers() -> None:
    """AND by x0 + x1 - 3/2: R^2 = 3, margin 1/2, |w, b|^2 = 17/4, so (R / gamma)^2 = 51."""
    y = torch.tensor([-1, -1, -1, 1])
    bound = mistake_bound(BITS, y, torch.ones(2), -1.5)
    assert bound == pytest.approx(float(Fraction(3) * Fraction(17, 4) / Fraction(1, 4)))


def separable(x: Tensor, y: Tensor) -> bool:
    """Whether y (w . x + b) >= 1 has a solution, by linear programming."""
    rows = y.double()[:, None] * torch.cat([x.double(), torch.ones(len(x), 1)], dim=1)
    found = linprog(np.zeros(rows.shape[1]), -rows.numpy(), -np.ones(len(x)), bounds=(None, None))
    assert found.status in (0, 2)
    return found.status == 0


@pytest.mark.parametrize(("n", "possible"), [(1, 4), (2, 14), (3, 104)])
def test_a_clean_pass_or_a_circle_says_what_linear_programming_says(n: int, possible: int) -> None:
    x = torch.tensor(list(product([0.0, 1.0], repeat=n)))
    learned = []
    for labels in product([-1, 1], repeat=2**n):
        y = torch.tensor(labels)
        lesson = Perceptron(n).learn(x, y, 1000)
        assert (lesson.clean is None) == (lesson.circle is not None)
        if n < 3 or len(learned) % 8 == 0:
            assert separable(x, y) == (lesson.clean is not None)
        learned.append(lesson.clean is not None)
    assert sum(learned) == possible


def test_xor_goes_round_from_any_start() -> None:
    assert not separable(BITS, XOR)
    for w0, w1, b in product(range(-3, 4), repeat=3):
        lesson = Perceptron(2, torch.tensor([w0, w1]), b).learn(BITS, XOR, 1000)
        assert lesson.circle is not None


# -- the multi-layer perceptron


@pytest.mark.parametrize("f", [SIGMOID, TANH])
def test_the_slopes_by_hand_are_the_measured_ones(f: Activation) -> None:
    net = perturb(MLP((3, 5, 4, 2), f).double())
    leaves = [normal(4, 3).requires_grad_(), *net.parameters()]
    names = [name for name, _ in net.named_parameters()]

    def run(x: Tensor, *weights: Tensor) -> Tensor:
        return torch.func.functional_call(net, dict(zip(names, weights, strict=True)), (x,))

    assert torch.autograd.gradcheck(run, leaves)


def test_forward_and_backward_alone_are_what_the_net_does() -> None:
    net = perturb(MLP((3, 4, 2)).double())
    x, dy = normal(5, 3), normal(5, 2, seed=1)
    W, b = [n.weight.detach() for n in net.linear], [n.bias.detach() for n in net.linear]
    h = forward(x, W, b, SIGMOID)
    assert [len(rows[0]) for rows in h] == [3, 4, 2]
    _, dW, db = backward(dy, h, W, SIGMOID)
    net(x).backward(dy)
    for layer, slope_W, slope_b in zip(net.linear, dW, db, strict=True):
        equal(slope_W, layer.weight.grad, 1e-12)
        equal(slope_b, layer.bias.grad, 1e-12)


def test_a_second_derivative_is_refused_and_not_half_given() -> None:
    x = normal(2, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="not implemented by hand"):
        torch.autograd.grad(MLP((3, 2, 1)).double()(x).sum(), x, create_graph=True)


# -- the digit recogniser


def test_all_layers_have_the_papers_sizes() -> None:
    """LeCun et al. 1989, section 3.3: weights by layer, and 9,760 in all."""
    for net in (lenet(), zip_code()):
        sizes = [sum(p.numel() for p in part.parameters()) for part in net.children()]
        assert sizes[:4] == [1_068, 2_592, 5_790, 310]
        assert (net.first.out, net.second.out) == (8, 4)


def test_what_is_wanted_can_be_reached() -> None:
    ends = squash(torch.tensor([1.0, -1.0], dtype=torch.float64))
    equal(ends, torch.tensor([1.0, -1.0], dtype=torch.float64), 1e-4)


def test_it_learns_scikit_learns_digits() -> None:
    digits = load_digits()
    images, labels = torch.tensor(digits.images).float() / 8 - 1, torch.tensor(digits.target)
    net, wanted = lenet(3), 2 * torch.eye(10)[labels] - 1
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)
    for step in range(120):
        rows = torch.arange(64 * step, 64 * step + 64) % 1_300
        (net(images[rows]) - wanted[rows]).square().sum(1).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    right = (net(images[1_300:]).argmax(1) == labels[1_300:]).float().mean()
    assert right > 0.8

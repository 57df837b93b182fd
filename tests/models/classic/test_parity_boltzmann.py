"""The restricted Boltzmann machine, and a stack of them, against scikit-learn's."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from laws import random_rows
from parity_registry import equal, parity, perturb
from sklearn.neural_network import BernoulliRBM
from torch import Tensor

from deepdive.models.classic.boltzmann import DBN, RBM


def of_sklearn(rbm: RBM, learning_rate: float = 0.1) -> BernoulliRBM:
    """scikit-learn's machine with the weights of ours."""
    oracle = BernoulliRBM(rbm.W.shape[0], learning_rate=learning_rate)
    oracle.components_ = rbm.W.detach().numpy().copy()
    oracle.intercept_hidden_ = rbm.c.detach().numpy().copy()
    oracle.intercept_visible_ = rbm.b.detach().numpy().copy()
    oracle._n_features_out = rbm.W.shape[0]
    return oracle


def machine() -> RBM:
    return perturb(RBM(9, 5).double(), size=0.7)


def bits(*shape: int, seed: int = 4) -> Tensor:
    return (random_rows(*shape, seed=seed) > 0).double()


class Dice:
    """A random state whose next uniform numbers are known: `sample < p` then shows p itself."""

    def __init__(self, numbers: Tensor) -> None:
        self.numbers = numbers.detach().numpy()

    def uniform(self, size: tuple[int, ...]) -> np.ndarray:
        assert size == self.numbers.shape
        return self.numbers


@parity(RBM)
def rbm() -> None:
    ours, v = machine(), bits(6, 9)
    oracle = of_sklearn(ours)
    equal(ours.free_energy(v), torch.from_numpy(oracle._free_energy(v.numpy())), 1e-12)
    equal(ours.hidden(v), torch.from_numpy(oracle.transform(v.numpy())), 1e-12)
    for step, kept, draw, given in (
        ("up", ours.hidden(v), oracle._sample_hiddens, v),
        ("down", ours.visible(bits(6, 5)), oracle._sample_visibles, bits(6, 5)),
    ):
        assert draw(given.numpy(), Dice(kept - 1e-12)).all(), f"{step}: p is larger than theirs"
        assert not draw(given.numpy(), Dice(kept + 1e-12)).any(), f"{step}: p is smaller"
    one_update(ours, v)


def one_update(ours: RBM, v: Tensor) -> None:
    """A step down our difference of free energies is the step that scikit-learn's fit takes."""
    oracle = of_sklearn(ours, learning_rate=0.3)
    oracle.h_samples_ = bits(6, 5, seed=8).numpy()
    drawn = oracle._sample_visibles(oracle.h_samples_, np.random.RandomState(0))
    oracle._fit(v.numpy(), np.random.RandomState(0))
    loss = ours.free_energy(v).mean() - ours.free_energy(torch.from_numpy(drawn).double()).mean()
    gradients = torch.autograd.grad(loss, [ours.W, ours.c, ours.b])
    after = (oracle.components_, oracle.intercept_hidden_, oracle.intercept_visible_)
    for p, gradient, theirs in zip((ours.W, ours.c, ours.b), gradients, after, strict=True):
        equal(p - 0.3 * gradient, torch.from_numpy(theirs), 1e-12)


@parity(DBN)
def dbn() -> None:
    ours, x = perturb(DBN((9, 5, 4)).double(), size=0.7), random_rows(6, 9).sigmoid()
    theirs = x.numpy()
    for layer in ours.layers:
        assert isinstance(layer, RBM)
        theirs = of_sklearn(layer).transform(theirs)
    equal(ours(x), torch.from_numpy(theirs), 1e-12)


def hidden_with_visible_bias(self: RBM, v: Tensor) -> Tensor:
    return (F.linear(v, self.W, self.c) + self.b.mean()).sigmoid()


def visible_without_bias(self: RBM, h: Tensor) -> Tensor:
    return (h @ self.W).sigmoid()


@pytest.mark.parametrize(
    ("part", "method", "wrong", "proof"),
    [
        (RBM, "hidden", hidden_with_visible_bias, rbm),
        (RBM, "visible", visible_without_bias, rbm),
        (RBM, "free_energy", lambda self, v: -(v @ self.b), rbm),
        (RBM, "forward", lambda self, v: F.linear(v, self.W, self.c), dbn),
    ],
)
def test_parity_sees(part: type, method: str, wrong: object, proof: object) -> None:
    """A bias of the wrong side, a missing one, a missing product: each turns its proof red."""
    with mock.patch.object(part, method, wrong), pytest.raises(AssertionError):
        proof()  # type: ignore[operator]

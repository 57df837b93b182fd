"""The multi-layer perceptron and the digit recogniser against torch.nn with copied weights, in
float64, gradients included. What has no such twin is in test_neurons.py.
"""

from __future__ import annotations

import torch
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn

from deepdive.models.classic.lenet import FeatureMaps, LeNet, lenet, zip_code
from deepdive.models.classic.mlp import MLP, RELU, SIGMOID, TANH


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# -- the multi-layer perceptron

TORCHS = [(SIGMOID, nn.Sigmoid), (TANH, nn.Tanh), (RELU, nn.ReLU)]


def as_torch(
    net: MLP, kind: type[nn.Module]
) -> tuple[nn.Sequential, dict[str, tuple[Tensor, Tensor]]]:
    """torch's own net with copies of the weights, and the pairs of weights."""
    modules: list[nn.Module] = []
    pairs = {}
    for number, layer in enumerate(net.linear):
        copy = nn.Linear(layer.in_features, layer.out_features, dtype=layer.weight.dtype)
        copy.load_state_dict(layer.state_dict())
        pairs[f"W[{number}]"] = layer.weight, copy.weight
        pairs[f"b[{number}]"] = layer.bias, copy.bias
        modules += [copy, kind()]
    return nn.Sequential(*modules[:-1]), pairs


@parity(MLP)
def mlp_is_torchs() -> None:
    for sizes in ((4, 3), (5, 7, 2), (4, 6, 5, 3)):
        for f, kind in TORCHS:
            net = perturb(MLP(sizes, f).double())
            theirs, pairs = as_torch(net, kind)
            x = normal(2, 9, sizes[0]).requires_grad_()
            y = x.detach().clone().requires_grad_()
            equal(net(x), theirs(y), 1e-12)
            equal_gradients(net(x), theirs(y), {**pairs, "x": (x, y)}, 1e-12)


# -- the digit recogniser


class Maps(nn.Module):
    """FeatureMaps by torch's convolution: 0 where a map is not read."""

    def __init__(self, ours: FeatureMaps) -> None:
        super().__init__()
        across = {"bias": False, "dtype": ours.weight.dtype}
        self.conv = nn.Conv2d(ours.n_below, len(ours.weight), ours.kernel, ours.stride, **across)
        with torch.no_grad():
            self.conv.weight.zero_()
            for m, read in enumerate(ours.sources):
                for n, below in enumerate(read):
                    self.conv.weight[m, below] = ours.weight[m, n]
        self.bias = nn.Parameter(ours.bias.detach().clone())
        self.pad = nn.ConstantPad2d(ours.padding, -1.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(self.pad(x)) + self.bias


def same_maps(ours: FeatureMaps) -> None:
    theirs = Maps(ours)
    x = normal(3, ours.n_below, ours.side, ours.side).requires_grad_()
    y = x.detach().clone().requires_grad_()
    equal(ours(x), theirs(y), 1e-12)
    equal_gradients(ours(x), theirs(y), {"x": (x, y), "bias": (ours.bias, theirs.bias)}, 1e-12)
    direction = normal(3, *theirs.bias.shape, seed=4)
    (mine,) = torch.autograd.grad((ours(x) * direction).sum(), ours.weight)
    (other,) = torch.autograd.grad((theirs(y) * direction).sum(), theirs.conv.weight)
    for m, read in enumerate(ours.sources):
        equal(mine[m], other[m, read], 1e-12)


@parity(FeatureMaps)
def maps_are_torchs() -> None:
    for sources in ([[0]], [[0, 2], [3, 1], [1, 2]]):
        for kernel, stride, padding in ((3, 1, 1), (3, 2, 0), (5, 2, 2)):
            maps = FeatureMaps(6, sources, kernel, stride, padding).double()
            same_maps(perturb(maps))


class Squash(nn.Module):
    def forward(self, a: Tensor) -> Tensor:
        return 1.7159 * torch.tanh(2 / 3 * a)


@parity(LeNet)
def lenet_is_torchs() -> None:
    for net, side in ((lenet(), 8), (lenet(3), 8), (zip_code(), 16)):
        ours = perturb(net.double())
        theirs = nn.Sequential(
            nn.Unflatten(1, (1, side)), Maps(ours.first), Squash(), Maps(ours.second), Squash(),
            nn.Flatten(), ours.hidden, Squash(), ours.answer, Squash(),
        )  # fmt: skip
        x = normal(4, side, side).requires_grad_()
        y = x.detach().clone().requires_grad_()
        equal(ours(x), theirs(y), 1e-12)
        equal_gradients(ours(x), theirs(y), {"x": (x, y)}, 1e-12)

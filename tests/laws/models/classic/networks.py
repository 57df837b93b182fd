"""Cases of the networks before attention: `mlp`, `lenet`, `boltzmann`, `hopfield`."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core import SoftmaxAttention
from deepdive.models.classic.boltzmann import (
    DBN,
    RBM,
    all_states,
    classifier,
    contrastive_divergence,
)
from deepdive.models.classic.hopfield import ModernHopfield, as_attention
from deepdive.models.classic.lenet import FeatureMaps, LeNet, lenet, ring
from deepdive.models.classic.mlp import MLP, Activation
from laws import ALONE, NO_WEIGHTS, Case, NotApplicable, case, random_rows, set_weights

NO_POINTS = {**ALONE, "hooks": NO_WEIGHTS}


@case("mlp", MLP)
def _() -> Case:
    x = random_rows(2, 5, 16)

    def one_layer() -> tuple[Tensor, Tensor]:
        """Without a hidden layer: what a perceptron sums before its threshold."""
        net = MLP((16, 3)).double()
        return net(x), x @ net.linear[0].weight.T + net.linear[0].bias

    def no_activation() -> tuple[Tensor, Tensor]:
        net = MLP((16, 8, 3), Activation(lambda a: a, torch.ones_like)).double()
        first, last = net.linear
        return net(x), x @ (last.weight @ first.weight).T + last.weight @ first.bias + last.bias

    return Case(
        parity="torch.nn.Sequential of Linear and Sigmoid, Tanh or ReLU, with torch's autograd",
        limits={
            "one layer: a perceptron's sum": one_layer,
            "no activation: one matrix": no_activation,
        },
        refusals={
            "a wrong width": lambda: MLP((4, 2))(torch.zeros(3, 5)),
            "no layer": lambda: MLP((4,)),
        },
        laws=NO_POINTS,
    )


@case("lenet/FeatureMaps", FeatureMaps)
def _() -> Case:
    images = random_rows(2, 4, 4, 4)

    def make(**change: int) -> FeatureMaps:
        return FeatureMaps(
            **{"side": 4, "kernel": 3, "stride": 2, "padding": 1, **change}, sources=ring(3, 2, 4)
        )

    def whole_image() -> tuple[Tensor, Tensor]:
        """A kernel as wide as the map: every unit sees all, a layer of the parent."""
        layer, dense = make(kernel=4, padding=0).double(), MLP((64, 3)).double()
        set_weights(dense, layers__0__weight=layer.full().flatten(1))
        set_weights(dense, layers__0__bias=layer.bias.flatten())
        return layer(images).flatten(1), dense(images.flatten(1))

    def written_out() -> tuple[Tensor, Tensor]:
        layer, x = make().double(), images[:1]
        framed, y = F.pad(x, (1, 1, 1, 1), value=-1.0), layer.bias[None].clone()
        for m, read in enumerate(layer.sources):
            for r, c in ((0, 0), (0, 1), (1, 0), (1, 1)):
                square = framed[0, read, 2 * r : 2 * r + 3, 2 * c : 2 * c + 3]
                y[0, m, r, c] += (layer.weight[m] * square).sum()
        return layer(x), y

    def moved() -> tuple[Tensor, Tensor]:
        """With one bias for all, an image moved by a pixel gives maps moved by one."""
        layer = make(stride=1, padding=0).double()
        return layer(images.roll(1, 3))[..., 1:], layer(images)[..., :-1]

    return Case(
        make=make,
        run=lambda layer, x, mask, state: layer(x.reshape(-1, 4, 4, 4)).reshape(*x.shape[:2], -1),
        d_model=64,
        parity="torch.nn.Conv2d",
        limits={
            "a kernel over the whole map: a layer of units": whole_image,
            "the sum, written out": written_out,
            "moving": moved,
        },
        refusals={
            "another side": lambda: make()(torch.zeros(1, 4, 5, 5)),
            "a kernel wider than the image": lambda: make(kernel=7),
            "maps that read unlike numbers": lambda: FeatureMaps(4, [[0], [0, 1]], 3, 1, 1),
        },
        laws=NO_POINTS,
    )


@case("lenet", LeNet)
def _() -> Case:
    return Case(
        parity="torch.nn.Conv2d, Linear and Tanh, with the weights copied",
        refusals={
            "an even kernel": lambda: lenet(4),
            "images of another side": lambda: lenet()(torch.zeros(2, 16, 16)),
        },
        laws={
            **NO_POINTS,
            "limit": NotApplicable("a chain of its layers; each has its own limits"),
        },
    )


@case("dbn/RBM", RBM)
def _() -> Case:
    def brute_force() -> tuple[Tensor, Tensor]:
        rbm, v, h = RBM(5, 3).double(), all_states(5), all_states(3)
        return -rbm.free_energy(v), (-rbm.energy(v[:, None], h)).logsumexp(1)

    return Case(
        make=lambda: RBM(16, 6),
        run=lambda module, x, mask, state: module.free_energy(x).unsqueeze(-1),
        parity="sklearn.neural_network.BernoulliRBM",
        limits={"the sum over all hidden states": brute_force},
        refusals={
            "a side without units": lambda: RBM(4, 0),
            "rows of another width": lambda: RBM(4, 2)(torch.zeros(1, 3)),
            "no Gibbs step": lambda: contrastive_divergence(RBM(4, 2), torch.zeros(1, 4), k=0),
            "a sum over too many states": lambda: RBM(30, 30).log_partition(),
        },
        laws=ALONE,
    )


@case("dbn", DBN)
def _() -> Case:
    def network() -> tuple[Tensor, Tensor]:
        """Before any training by labels, the network's last but one layer is the DBN's top."""
        dbn, x = DBN((16, 8, 6)).double(), random_rows(3, 16).sigmoid()
        return classifier(dbn, 10)[:-1](x), dbn(x)

    return Case(
        parity="sklearn.neural_network.BernoulliRBM, one over the other",
        limits={"the network that fine-tuning starts from": network},
        refusals={"one size": lambda: DBN((16,))},
        silent={".b": "the visible side's bias is read when rows are drawn, not on the way up"},
        laws=ALONE,
    )


@case("hopfield", ModernHopfield)
def _() -> Case:
    stored, state = random_rows(5, 16), random_rows(2, 3, 16, seed=6)

    def one_head() -> tuple[Tensor, Tensor]:
        network = ModernHopfield(stored, 0.7)
        return network(state), as_attention(network)(state, memory=stored.expand(2, 5, 16))

    def mechanism() -> tuple[Tensor, Tensor]:
        rows = stored.expand(2, 1, 5, 16)
        attended = SoftmaxAttention()(state.unsqueeze(1), rows, rows, scale=0.7)
        return ModernHopfield(stored, 0.7)(state), attended.squeeze(1)

    def recall(beta: float) -> Tensor:
        return ModernHopfield(stored, beta)(state)

    nearest, every = stored[(state @ stored.T).argmax(-1)], stored.mean(0).expand_as(state)
    return Case(
        parity="torch.nn.functional.scaled_dot_product_attention",
        limits={
            "SoftmaxAttention": mechanism,
            "MultiHeadAttention of one head, identities for projections": one_head,
            "beta 0: the mean of the patterns": lambda: (recall(0.0), every),
            "beta large: the pattern with the largest dot product": lambda: (recall(1e4), nearest),
        },
        refusals={
            "no pattern": lambda: ModernHopfield(torch.zeros(0, 4)),
            "patterns of bools": lambda: ModernHopfield(torch.ones(2, 4).bool()),
            "a beta below 0": lambda: ModernHopfield(stored, -1.0),
            "a state of another width": lambda: ModernHopfield(stored)(torch.zeros(1, 2, 8)),
            "an energy at beta 0": lambda: ModernHopfield(stored, 0.0).energy(state),
        },
        laws={name: ALONE[name] for name in ("padding", "cache")},
    )

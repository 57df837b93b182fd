"""Cases of `deepdive.models.before.lenet`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.models.before.lenet import FeatureMaps, LeNet, lenet, ring
from deepdive.models.before.mlp import MLP
from laws import Case, NotApplicable, Refuses, Verdict, case, random_rows, set_weights
from laws.models.before.mlp import NO_ROWS_MEET

ALONE: dict[str, Verdict] = {
    "padding": NotApplicable(NO_ROWS_MEET),
    "cache": NotApplicable(NO_ROWS_MEET),
    "hooks": Refuses("no attention: record says that there are no weights"),
}


@case("lenet/FeatureMaps", FeatureMaps)
def _() -> Case:
    def make(**change: int) -> FeatureMaps:
        return FeatureMaps(
            **{"side": 4, "kernel": 3, "stride": 2, "padding": 1, **change}, sources=ring(3, 2, 4)
        )

    def whole_image() -> tuple[Tensor, Tensor]:
        """A kernel as wide as the map: every unit sees all, a layer of the parent."""
        layer, x = make(kernel=4, padding=0).double(), random_rows(3, 4, 4, 4)
        dense = MLP((64, 3)).double()
        set_weights(dense, layers__0__weight=layer.full().flatten(1))
        set_weights(dense, layers__0__bias=layer.bias.flatten())
        return layer(x).flatten(1), dense(x.flatten(1))

    def written_out() -> tuple[Tensor, Tensor]:
        layer, x = make().double(), random_rows(1, 4, 4, 4)
        framed, y = F.pad(x, (1, 1, 1, 1), value=-1.0), layer.bias[None].clone()
        for m, read in enumerate(layer.sources):
            for r, c in ((0, 0), (0, 1), (1, 0), (1, 1)):
                square = framed[0, read, 2 * r : 2 * r + 3, 2 * c : 2 * c + 3]
                y[0, m, r, c] += (layer.weight[m] * square).sum()
        return layer(x), y

    def moved() -> tuple[Tensor, Tensor]:
        """With one bias for all, an image moved by a pixel gives maps moved by one."""
        layer, x = make(stride=1, padding=0).double(), random_rows(2, 4, 4, 4)
        return layer(x.roll(1, 3))[..., 1:], layer(x)[..., :-1]

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
        laws=ALONE,
    )


@case("lenet", LeNet)
def _() -> Case:
    return Case(
        make=lenet,
        run=lambda net, x, mask, state: net(x.reshape(-1, 8, 8)).view(*x.shape[:2], 10),
        d_model=64,
        parity="torch.nn.Conv2d, Linear and Tanh, with the weights copied",
        refusals={
            "an even kernel": lambda: lenet(4),
            "images of another side": lambda: lenet()(torch.zeros(2, 16, 16)),
        },
        laws={**ALONE, "limit": NotApplicable("a chain of its layers; each has its own limits")},
    )

"""Cases of `convnet`, the convolutional network beside which other readers of images are put."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.models.classic.convnet import ConvNet, Layer
from deepdive.models.classic.lenet import FeatureMaps
from laws import NO_WEIGHTS, ONE_ROW, Case, Verdict, case, random_rows, set_weights

LAWS: dict[str, Verdict] = {**ONE_ROW, "hooks": NO_WEIGHTS}
PROVED = "none: a chain of torch's own layers; `FeatureMaps`, its limit, is proved"


def on_paper(side: int = 4, ground: int = 8) -> tuple[Tensor, Tensor]:
    """An image in the middle of empty ground, and the same one line down, two columns across."""
    spare = (ground - side) // 2
    image = F.pad(random_rows(2, 1, side, side), (spare,) * 4)
    return image, image.roll((1, 2), (2, 3))


@case("lenet/Layer", Layer)
def _() -> Case:
    def make(**changes: Any) -> Layer:
        return Layer(**{"n_below": 2, "maps": 3, **changes}).double().eval()

    def lenets() -> tuple[Tensor, Tensor]:
        """With nothing to normalise: LeNet's maps, each with one bias for all its units."""
        ours, theirs = make(), FeatureMaps(6, [[0, 1]] * 3, 3, 1, 0).double()
        ours.norm.eps = 0.0
        set_weights(theirs, weight=ours.conv.weight)
        torch.nn.init.normal_(ours.norm.bias)
        set_weights(theirs, bias=ours.norm.bias[:, None, None].expand(3, 4, 4))
        x = random_rows(2, 2, 6, 6)
        return ours(x)[..., 1:-1, 1:-1], theirs(x).relu()

    def moved() -> tuple[Tensor, Tensor]:
        layer, (image, other) = make(n_below=1), on_paper(2)
        return layer(other), layer(image).roll((1, 2), (2, 3))

    return Case(
        make=lambda: Layer(1, 3),
        run=lambda layer, x, mask, state: layer(x.reshape(-1, 1, 4, 4)).reshape(*x.shape[:2], -1),
        parity=PROVED,
        limits={"nothing to normalise: LeNet's maps": lenets, "a moved image: moved maps": moved},
        refusals={"a kernel without a middle": lambda: make(kernel=2)},
        laws=LAWS,
    )


@case("lenet/ConvNet", ConvNet)
def _() -> Case:
    def moved() -> tuple[Tensor, Tensor]:
        """One layer, not halved: wherever the image stands, the answer is the same."""
        net, (image, other) = ConvNet((5,), halve=0).double().eval(), on_paper(2)
        return net(image), net(other)

    def moved_by_two() -> tuple[Tensor, Tensor]:
        """Halved once: a move by two pixels, a whole square of the halving, changes no answer."""
        net = ConvNet((5,), halve=1).double().eval()
        image = F.pad(random_rows(2, 1, 4, 4), (4,) * 4)
        return net(image), net(image.roll((2, -2), (2, 3)))

    return Case(
        make=lambda: ConvNet((4, 6), n_classes=5, halve=1),
        run=lambda net, x, mask, state: net(x.reshape(-1, 1, 4, 4)).reshape(*x.shape[:2], -1),
        parity=PROVED,
        limits={"moved, not halved": moved, "moved by whole squares, halved": moved_by_two},
        refusals={
            "no layer": lambda: ConvNet(()),
            "a kernel without a middle": lambda: ConvNet((4,), kernel=4),
        },
        laws=LAWS,
    )

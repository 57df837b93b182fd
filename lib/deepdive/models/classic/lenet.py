"""LeNet: the convolutional digit classifier of "Backpropagation Applied to Handwritten Zip Code
Recognition". LeCun, Boser, Denker, Henderson, Howard, Hubbard and Jackel 1989.

    image -> H1: 12 maps of 8 x 8 -> H2: 12 maps of 4 x 4 -> H3: 30 units -> 10 units

`lenet()` takes scikit-learn's digits of 8 x 8. Its first layer has stride 1, the paper's has
stride 2 on 16 x 16 (`zip_code()`), so all layers and all 9,760 weights have the paper's sizes. Also
not as in the paper: it doesn't state which 8 of the 12 maps are inputs of a map of H2; here they
are a ring (`ring`); biases are initialized to 0; the paper's second-order updates, one example
at a time, are left to the training code.

Long because its convolution is implemented here: torch has none with partially connected maps and
a bias per unit.

System: lenet
Parent: mlp
What differs:
- local receptive fields, small squares of the map below: `FeatureMaps`, `kernel`
- weight sharing among all units of a map, with a bias per unit: `FeatureMaps.weight`, `bias`
- a stride above one pixel subsamples the maps: `stride`
- a map of the second layer is connected to 8 of the 12 maps below: `ring`
- tanh, scaled so the targets +1 and -1 can be reached: `squash`
Source: LeCun et al. 1989, section 3.
Book: 1.1
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import not_negative, positive
from deepdive.core.hooks import HookPoint

BACKGROUND = -1.0  # padding value around an image: paper


def squash(a: Tensor) -> Tensor:
    """Scaled tanh, 1.7159 tanh(2 a / 3): +1 at 1 and -1 at -1, reachable with finite weights.

    Source of the two numbers: LeCun et al. 1998, "Efficient BackProp", section 4.4.
    """
    return 1.7159 * torch.tanh(a * 2 / 3)


def ring(n_maps: int, n_read: int, n_below: int) -> list[list[int]]:
    """Return each map m's inputs: the n_read maps m, m + 1, ... below, modulo n_below."""
    return [[(m + i) % n_below for i in range(n_read)] for m in range(n_maps)]


class FeatureMaps(nn.Module):
    """Convolution with partially connected maps and a bias for each unit.

        a[m, r, c] = bias[m, r, c] + sum over n, i, j of
                     weight[m, n, i, j] * x[sources[m][n], r * stride + i, c * stride + j]

    `side` is that of the square maps below; x is padded with `padding` rows of -1. `sources[m]`
    lists the input maps of map m, the same number for each. Weights are drawn from U(-2.4 / F, 2.4
    / F), F the number of inputs of a unit. Source: LeCun et al. 1989, section 3.2.
    """

    def __init__(
        self, side: int, sources: Sequence[Sequence[int]], kernel: int, stride: int, padding: int
    ) -> None:
        super().__init__()
        positive(side=side, kernel=kernel, stride=stride)
        not_negative(padding=padding)
        if len({len(maps_read) for maps_read in sources}) != 1 or min(map(min, sources)) < 0:
            raise ValueError(f"sources={sources}: list equally many input maps (0, 1, ...) each")
        self.side, self.kernel, self.stride, self.padding = side, kernel, stride, padding
        self.sources = [list(maps_read) for maps_read in sources]
        self.n_below = max(map(max, self.sources)) + 1
        self.out = (side + 2 * padding - kernel) // stride + 1  # the side of the output maps
        positive(out=self.out, kernel=kernel)  # below 1, the kernel is wider than its input
        bound = 2.4 / (len(sources[0]) * kernel**2 + 1)
        shape = (len(sources), len(sources[0]), kernel, kernel)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(len(sources), self.out, self.out))

    def full(self) -> Tensor:
        """Return dense kernels (maps, n_below, kernel, kernel), 0 for unconnected maps."""
        kernels = self.weight.new_zeros(len(self.weight), self.n_below, self.kernel, self.kernel)
        maps = torch.arange(len(self.weight), device=self.weight.device)[:, None]
        return kernels.index_put(
            (maps, torch.tensor(self.sources, device=maps.device)), self.weight
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return feature maps (B, maps, out, out) for x (B, n_below, side, side)."""
        if x.ndim != 4 or x.shape[1:] != (self.n_below, self.side, self.side):
            raise ValueError(
                f"x has shape {tuple(x.shape)}; expected (B, {self.n_below}, {self.side}, "
                f"{self.side}): images, maps, rows, columns"
            )
        x = F.pad(x, (self.padding,) * 4, value=BACKGROUND)
        squares = x.unfold(2, self.kernel, self.stride).unfold(3, self.kernel, self.stride)
        squares = squares.permute(0, 2, 3, 1, 4, 5).flatten(3)  # (B, out, out, n_below * kernel^2)
        return (squares @ self.full().flatten(1).T).permute(0, 3, 1, 2) + self.bias


class LeNet(nn.Module):
    """Two convolutional and two linear layers with `squash`: outputs (B, 10), +1 for the digit.

    Hook points: `maps1`, `maps2`, after `squash`.
    """

    def __init__(self, first: FeatureMaps, second: FeatureMaps) -> None:
        super().__init__()
        self.first, self.second = first, second
        self.hidden = nn.Linear(len(second.sources) * second.out**2, 30)
        self.answer = nn.Linear(30, 10)
        self.maps1, self.maps2 = HookPoint(), HookPoint()
        for layer in (self.hidden, self.answer):
            bound = 2.4 / (layer.in_features + 1)
            nn.init.uniform_(layer.weight, -bound, bound)
            nn.init.zeros_(layer.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Return outputs (B, 10) for images (B, side, side), -1 for paper and +1 for ink."""
        x = self.maps1(squash(self.first(images.unsqueeze(1))))  # (B, 12, 8, 8)
        x = self.maps2(squash(self.second(x)))  # (B, 12, 4, 4)
        return squash(self.answer(squash(self.hidden(x.flatten(1)))))


def lenet(kernel: int = 5) -> LeNet:
    """Build LeNet for 8 x 8 digits. Raises ValueError for an even kernel: it has no center."""
    if kernel % 2 == 0:
        raise ValueError(f"kernel={kernel}: expected an odd number, so it has a center")
    first = FeatureMaps(8, [[0]] * 12, kernel, 1, kernel // 2)
    return LeNet(first, FeatureMaps(8, ring(12, 8, 12), kernel, 2, kernel // 2))


def zip_code() -> LeNet:
    """Build the paper's network, for images of 16 x 16."""
    return LeNet(FeatureMaps(16, [[0]] * 12, 5, 2, 2), FeatureMaps(8, ring(12, 8, 12), 5, 2, 2))

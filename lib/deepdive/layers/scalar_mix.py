"""ELMo's scalar mix: a weighted mean of several layers' states, with learned weights."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.hooks import HookPoint


class ScalarMix(nn.Module):
    """y = gamma * sum_j softmax(s)_j h_j, with one s_j per layer and one gamma, both learned.

    At first all s_j are 0 and gamma is 1: the mean. Hook point: `weights` (n_layers,), softmax(s).
    Source: Peters et al. 2018, equation 1.
    """

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        positive(n_layers=n_layers)
        self.s = nn.Parameter(torch.zeros(n_layers))
        self.gamma = nn.Parameter(torch.ones(()))
        self.weights = HookPoint()

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """Return (..., d) for n_layers tensors of that shape; ValueError for another number."""
        if len(layers) != len(self.s):
            raise ValueError(f"{len(layers)} layers; expected {len(self.s)}: the words' rows too")
        weighted = zip(self.weights(self.s.softmax(0)), layers, strict=True)
        return self.gamma * torch.stack([w * h for w, h in weighted]).sum(0)

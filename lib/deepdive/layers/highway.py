"""Highway layer: a gate between the input and its transform."""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive


class Highway(nn.Module):
    """Highway layer: a learned gate for each number, between the input and its transform.

        g = sigmoid(b_g + G x)
        y = g * relu(b + W x) + (1 - g) * x          # (..., d_model)

    The gate's bias starts at -2, so that an untrained layer passes most of x on.
    Source: Srivastava, Greff and Schmidhuber 2015, equation 3.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.W, self.G = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        nn.init.constant_(self.G.bias, -2.0)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., d_model) for x (..., d_model)."""
        g = torch.sigmoid(self.G(x))
        return g * torch.relu(self.W(x)) + (1 - g) * x

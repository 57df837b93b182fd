"""Grouped linear layers: each group of features has its own small matrix."""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.feed_forward import Activation, FeedForward, relu


class GroupedLinear(nn.Module):
    """y = concat(x_1 @ weight[0], .. x_G @ weight[G - 1]) + bias, x_g the parts of x.

    `weight` (groups, in_features / groups, out_features / groups) has 1 / groups of the parameters.
    Raises ValueError unless groups divides both widths.
    Source: Jiang et al. 2020, section 3.3.
    """

    def __init__(self, in_features: int, out_features: int, groups: int) -> None:
        super().__init__()
        positive(in_features=in_features, out_features=out_features, groups=groups)
        if in_features % groups or out_features % groups:
            raise ValueError(
                f"groups={groups} does not divide in_features={in_features} and "
                f"out_features={out_features}: choose a divisor of both"
            )
        self.groups = groups
        self.weight = nn.Parameter(
            torch.empty(groups, in_features // groups, out_features // groups)
        )
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out_features) for x (..., in_features)."""
        parts = x.unflatten(-1, (self.groups, -1))  # (..., G, in / G)
        return torch.einsum("...gi,gio->...go", parts, self.weight).flatten(-2) + self.bias


class GroupedFeedForward(FeedForward):
    """`FeedForward` whose two layers are `GroupedLinear`.

    Source: Jiang et al. 2020, section 3.3.
    """

    def __init__(
        self, d_model: int, d_ff: int, groups: int, activation: Activation = relu,
        dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(d_model, d_ff, activation, dropout)
        self.inner = GroupedLinear(d_model, d_ff, groups)  # type: ignore[assignment]
        self.out = GroupedLinear(d_ff, d_model, groups)  # type: ignore[assignment]

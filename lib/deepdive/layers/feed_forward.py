"""Feed-forward layers: a few rows at a time, in groups of channels, or with a gate that keeps x."""

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from deepdive.core.checks import positive
from deepdive.core.feed_forward import Activation, FeedForward, relu


class ChunkedFeedForward(nn.Module):
    """inner(x), `rows` positions at a time: the d_ff units of one chunk exist at once, not of all.

    Each position is worked on alone, so nothing changes but memory: rows * d_ff instead of
    T * d_ff, in the backward pass too, where the units of each chunk are computed again (dropout
    falls on the same ones). Raises ValueError for less than one row.
    Source: Kitaev et al. 2020, section 3, "Chunking".
    """

    def __init__(self, inner: nn.Module, rows: int) -> None:
        super().__init__()
        positive(rows=rows)
        self.inner, self.rows = inner, rows

    def extra_repr(self) -> str:
        return f"rows={self.rows}"

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model)."""
        parts = x.split(self.rows, dim=1)
        if not torch.is_grad_enabled() or len(parts) == 1:
            return torch.cat([self.inner(part) for part in parts], dim=1)
        done = [checkpoint(self.inner, part, use_reentrant=False) for part in parts]
        return torch.cat(done, dim=1)


class GroupedLinear(nn.Module):
    """y = concat(x_1 @ weight[0], .. x_G @ weight[G - 1]) + bias, x_g the parts of x.

    `weight` (groups, in_features / groups, out_features / groups) has a groups-th of the numbers.
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


class Highway(nn.Module):
    """A layer that says for each number how much of its input it replaces.

        g = sigmoid(b_g + G x)
        y = g * relu(b + W x) + (1 - g) * x          # (..., d_model)

    The gate's bias starts at -2, so that a fresh layer lets most of x pass.
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

"""DeLighT's transformation (DExTra): group linear transforms that widen a vector and narrow it."""

from collections.abc import Callable
from math import ceil

import torch
from torch import Tensor, nn

from deepdive.core import Context, LayerNorm, MultiHeadAttention, gelu
from deepdive.core.checks import positive
from deepdive.core.context import Layer
from deepdive.core.feed_forward import Activation
from deepdive.layers.feed_forward import GroupedLinear

MULTIPLE = 8  # widths inside are rounded up to a multiple of it
Norm = Callable[[int], nn.Module]


class GroupTransform(nn.Module):
    """Group linear transform: y = dropout(activation(norm(shuffle(linear(x))))), linear in groups.

    `shuffle` sends the first number of each group to the first group, and so on, so that the next
    layer's groups mix what this one's kept apart. The norm acts on each group, with shared weights.
    Raises ValueError unless groups divides both widths.
    Source: Mehta et al. 2021, section 3.1, and their released code (`GroupLinear`).
    """

    def __init__(
        self, d_in: int, d_out: int, groups: int, shuffle: bool = True, dropout: float = 0.0,
        activation: Activation = gelu, norm: Norm = LayerNorm,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(d_in=d_in, d_out=d_out, groups=groups)
        self.linear = GroupedLinear(d_in, d_out, groups)
        bound = (6 / ((d_in + d_out) // groups)) ** 0.5  # Glorot's, of one group
        nn.init.uniform_(self.linear.weight, -bound, bound)
        self.groups, self.shuffle = groups, shuffle and groups > 1
        self.norm, self.activation = norm(d_out // groups), activation
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., d_out) for x (..., d_in)."""
        y = self.linear(x).unflatten(-1, (self.groups, -1))  # (..., G, d_out / G)
        if self.shuffle:
            y = y.transpose(-1, -2).flatten(-2).unflatten(-1, (self.groups, -1))
        return self.dropout(self.activation(self.norm(y)).flatten(-2))


class DExTra(nn.Module):
    """Deep, light transformation of each position, d_in -> d_out, through `n_layers` group
    transforms that widen it up to width * d_in, then narrow it again.

        y = reduced = reduce(x)                                   # d_in -> d_out, one group
        y = transform_l(mix(reduced, y))                          # for each layer l; the first: y
        output = join(mix(reduced, y))                            # one group

    The first half of the layers has 2, 4, 8 .. groups, at most max_groups, and widths from d_out
    to width * d_in in equal steps; the second half mirrors both. `mix` gives each group of the next
    layer its part of `reduced` too (input mixing). Raises ValueError unless max_groups divides
    d_out.
    Source: Mehta et al. 2021, section 3.1, and their released code (`DExTraUnit`).
    """

    def __init__(
        self, d_in: int, d_out: int, n_layers: int = 4, width: float = 2.0, max_groups: int = 8,
        shuffle: bool = True, dropout: float = 0.0, activation: Activation = gelu,
        norm: Norm = LayerNorm,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(d_in=d_in, d_out=d_out, n_layers=n_layers, max_groups=max_groups)
        if d_out % max_groups:
            raise ValueError(f"max_groups={max_groups} does not divide d_out={d_out}")
        self.groups, self.widths = shape(d_out, int(width * d_in), n_layers, max_groups)

        def transform(d_in: int, d_out: int, groups: int) -> GroupTransform:
            return GroupTransform(d_in, d_out, groups, shuffle, dropout, activation, norm)

        inputs = [d_out, *(width + d_out for width in self.widths[:-1])]
        self.reduce = transform(d_in, d_out, 1)
        self.transforms = nn.ModuleList(
            transform(*sizes) for sizes in zip(inputs, self.widths, self.groups, strict=True)
        )
        self.join = transform(2 * d_out, d_out, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., d_out) for x (..., d_in)."""
        y = reduced = self.reduce(x)
        for layer, groups in zip(self.transforms, (*self.groups[1:], 1), strict=True):
            parts = [z.unflatten(-1, (groups, -1)) for z in (reduced, layer(y))]
            y = torch.cat(parts, -1).flatten(-2)
        return self.join(y)


def shape(d_out: int, widest: int, n_layers: int, max_groups: int) -> tuple[list[int], list[int]]:
    """Return the groups and the output widths of DExTra's layers, as released: the middle is the
    widest, each width but the last a multiple of 8 and of the groups around it.
    """
    half = ceil(n_layers / 2)
    steps = max(half - 1, 1)
    widths = [int(d_out + (widest - d_out) * i / steps) for i in range(half)]
    groups = [min(2 ** (i + 1), max_groups) for i in range(half)]
    mirrored = slice(n_layers % 2, None)
    widths, groups = widths + widths[::-1][mirrored], groups + groups[::-1][mirrored]
    for i in range(n_layers - 1):
        of = max(groups[i], groups[i + 1], MULTIPLE)
        widths[i] = ceil(widths[i] / of) * of
    return groups, [*widths[:-1], d_out]


class DelightAttention(Layer):
    """Single-head attention in fewer dimensions: x -> DExTra -> attention of width d_model /
    reduction -> d_model.

    Reads a mask, a bias, positions, and a cache; refuses a memory.
    Source: Mehta et al. 2021, section 3.1, and their released code.
    """

    reads = ("mask", "bias", "positions", "cache")
    instead = "it is self-attention: MultiHeadAttention attends to a memory"

    def __init__(
        self, d_model: int, dextra: DExTra, reduction: int = 2, dropout: float = 0.0
    ) -> None:
        super().__init__()
        positive(d_model=d_model, reduction=reduction)
        self.d_model, self.dextra = d_model, dextra
        self.attn = MultiHeadAttention(d_model // reduction, 1, dropout=dropout)
        self.attn.out = nn.Linear(d_model // reduction, d_model)
        nn.init.xavier_uniform_(self.attn.out.weight)
        nn.init.zeros_(self.attn.out.bias)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model)."""
        return self.attn(self.dextra(x), context)

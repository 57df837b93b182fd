"""The first layer of deep Taylor decomposition, where inputs have both signs.

    low, high = table.amin(0), table.amax(0)           # of all rows that there are, (d,) each
    deep_taylor_bounded(model, point, output, low, high)

Behind a ReLU no input is negative, and `deep_taylor` shares by what speaks for a unit. Rows of
words and of pixels have both signs: there a unit is taken to its root, the nearest input at which
it falls silent, by another way.

Parent: lrp. What differs:
- the layers that read the explained rows have a rule of their own, the rest has `deep_taylor`'s
- any input may be the root: shares by the squares of the weights (`deep_taylor_unbounded`, w^2)
- the root must lie in a box, as a pixel's: shares by the distance to the box's corner at which the
  unit is smallest (`deep_taylor_bounded`, z^B)
Source: Montavon et al. 2017.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.hooks import replace
from deepdive.explain.backward.layer_rules import AFFINE, positive_parts
from deepdive.explain.backward.relevance import deep_taylor_rules
from deepdive.explain.backward.rules import Rules, frozen, in_sight, shared
from deepdive.explain.tracing import Output, checked, untraced

Layer = Callable[[Tensor, Tensor], Tensor]  # (rows, weight) -> rows, without the bias


def deep_taylor_unbounded(model: nn.Module, point: str, output: Output) -> Tensor:
    """Return the relevance of each row for each number, (T, S), by the w^2 rule:

        first linear layer    R_i = sum_j W_ij^2 / (sum_i W_ij^2) R_j

    The rest as in `deep_taylor`. The root of z_j = x W_j + b_j that is nearest to x is
    x - z_j W_j / |W_j|^2, and each input gets W_ij (x - root)_i of R_j = z_j.
    Raises ValueError where anything but a linear layer reads the rows; arguments as in `gradients`.
    Source: Montavon et al. 2017 (w^2 rule; equation 12 of arXiv 1512.02479v1).
    """

    def squares(layer: Layer, one: Tensor, _x: Tensor, weight: Tensor) -> Tensor:
        return layer(one, weight.square())

    return _relevance(model, point, output, squares)


def deep_taylor_bounded(
    model: nn.Module, point: str, output: Output, low: Tensor | float, high: Tensor | float
) -> Tensor:
    """Return the relevance of each row for each number, (T, S), by the z^B rule:

        first linear layer    R_i = sum_j p_ij / (sum_i p_ij) R_j
        p_ij = x_i W_ij - low_i max(0, W_ij) - high_i min(0, W_ij)          # 0 or more

    for rows with low <= x <= high; each is a number, (d,) or (S, d). The rest as in `deep_taylor`.
    The root lies on the straight way from x to the corner of the box at which z_j is smallest.
    Raises ValueError for rows outside the box, and where anything but a linear layer reads them.
    Source: Montavon et al. 2017 (z^B rule).
    """
    x = untraced(model, point, output)[0]
    box = [torch.as_tensor(side).to(x).expand_as(x) for side in (low, high)]
    if not bool(((box[0] <= x) & (x <= box[1])).all()):
        raise ValueError(
            f"rows from {x.min():.3g} to {x.max():.3g} lie outside low and high: give the least "
            "and the largest that a row can hold, such as table.amin(0) and table.amax(0)"
        )

    def from_corner(
        layer: Layer, one: Tensor, x: Tensor, weight: Tensor, low: Tensor, high: Tensor
    ) -> Tensor:
        raised = layer(one * low, weight.clamp(min=0)) + layer(one * high, weight.clamp(max=0))
        return layer(one * x, weight) - raised

    return _relevance(model, point, output, from_corner, *box)


def _relevance(
    model: nn.Module, point: str, output: Output, parts: Callable[..., Tensor], *beside: Tensor
) -> Tensor:
    """`parts` is given the layer, ones, the rows and the weight, and what stands `beside` the rows.

    Relevance is the gradient in the ones that stand in the rows' places: it needs no division by
    x, and what else reads the rows shows as a gradient in these.
    """
    found, numbers, copies = untraced(model, point, output)
    x = found.repeat(copies, 1, 1).requires_grad_()  # a storage of its own
    one = torch.ones_like(x).requires_grad_()

    others = [rows.expand_as(x).contiguous() for rows in beside]

    def first(
        function: Any, rows: Tensor, weight: Tensor, bias: Any = None, *more: Any, **named: Any
    ) -> Tensor:
        if rows.untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
            return positive_parts(function, rows, weight, bias, *more, **named)

        def layer(rows: Tensor, weight: Tensor) -> Tensor:
            return function(rows, weight, None, *more, **named)

        def seen(like: Tensor) -> Tensor:  # as the layer sees x: turned, flattened or cut
            return like.as_strided(rows.shape, rows.stride(), rows.storage_offset())

        z = function(rows, weight, bias, *more, **named)
        return shared(z, parts(layer, seen(one), rows.detach(), weight, *map(seen, others)))

    chosen = deep_taylor_rules() | dict.fromkeys(AFFINE, first)
    with torch.enable_grad(), frozen(model), Rules(chosen), replace(model, point, x):
        numbers = checked(in_sight(output)(), copies)[0]
        ways = [
            torch.autograd.grad(number, (one, x), retain_graph=True, allow_unused=True)
            for number in numbers
        ]
    if any(way is not None for _, way in ways):
        raise ValueError(
            f"more than linear layers ({', '.join(AFFINE)}) read the rows at {point}, such as a "
            "norm or a residual connection: the first layer's rules are for networks without"
        )
    shares = [torch.zeros_like(x) if share is None else share for share, _ in ways]
    return torch.stack(shares)[:, 0].sum(-1)

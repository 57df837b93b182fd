"""First-layer rules of deep Taylor decomposition, for inputs of both signs.

    low, high = table.amin(0), table.amax(0)           # over all embeddings, (d,) each
    deep_taylor_bounded(model, point, output, low, high)

After a ReLU no input is negative, and `deep_taylor` distributes relevance by positive
contributions. Embeddings and pixels have both signs: their root point, the nearest input at which
a unit's output is 0, is found by another rule.

Parent: lrp. What differs:
- linear layers on the explained input have a rule of their own, the rest has `deep_taylor`'s
- any input may be the root: shares by the squared weights (`deep_taylor_unbounded`, w^2)
- the root must lie in a box, like a pixel's: shares by the distance to the box's corner at which
  the unit is smallest (`deep_taylor_bounded`, z^B)
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

Layer = Callable[[Tensor, Tensor], Tensor]  # (x, weight) -> x @ weight, without the bias


def deep_taylor_unbounded(model: nn.Module, point: str, output: Output) -> Tensor:
    """Return the relevance of each position for each output, (T, S), by the w^2 rule:

        first linear layer    R_i = sum_j W_ij^2 / (sum_i W_ij^2) R_j

    The rest as in `deep_taylor`. The root of z_j = x W_j + b_j that is nearest to x is
    x - z_j W_j / |W_j|^2, and each input gets W_ij (x - root)_i of R_j = z_j.
    Raises ValueError if x enters anything but linear layers; arguments as in `gradients`.
    Source: Montavon et al. 2017 (w^2 rule; equation 12 of arXiv 1512.02479v1).
    """

    def squares(layer: Layer, one: Tensor, _x: Tensor, weight: Tensor) -> Tensor:
        return layer(one, weight.square())

    return _relevance(model, point, output, squares)


def deep_taylor_bounded(
    model: nn.Module, point: str, output: Output, low: Tensor | float, high: Tensor | float
) -> Tensor:
    """Return the relevance of each position for each output, (T, S), by the z^B rule:

        first linear layer    R_i = sum_j p_ij / (sum_i p_ij) R_j
        p_ij = x_i W_ij - low_i max(0, W_ij) - high_i min(0, W_ij)          # 0 or more

    for low <= x <= high; each bound is a number, (d,) or (S, d). The rest as in `deep_taylor`.
    The root lies on the straight line from x to the corner of the box at which z_j is smallest.
    Raises ValueError for x outside the box, and if x enters anything but linear layers.
    Source: Montavon et al. 2017 (z^B rule).
    """
    x = untraced(model, point, output)[0]
    box = [torch.as_tensor(side).to(x).expand_as(x) for side in (low, high)]
    if not bool(((box[0] <= x) & (x <= box[1])).all()):
        raise ValueError(
            f"low, high: embeddings from {x.min():.3g} to {x.max():.3g} lie outside; give the "
            "least and the largest possible values, such as table.amin(0) and table.amax(0)"
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
    """Propagate relevance with `parts(layer, ones, x, weight, *beside)` in the first linear layers.

    Relevance is the gradient with respect to ones that replace x: it needs no division by x, and
    any other use of x shows as a gradient with respect to x.
    """
    found, numbers, copies = untraced(model, point, output)
    x = found.repeat(copies, 1, 1).requires_grad_()  # in its own storage
    one = torch.ones_like(x).requires_grad_()

    others = [rows.expand_as(x).contiguous() for rows in beside]

    def first(
        function: Any, rows: Tensor, weight: Tensor, bias: Any = None, *more: Any, **named: Any
    ) -> Tensor:
        if rows.untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
            return positive_parts(function, rows, weight, bias, *more, **named)

        def layer(rows: Tensor, weight: Tensor) -> Tensor:
            return function(rows, weight, None, *more, **named)

        def seen(like: Tensor) -> Tensor:  # the layer's view of x: transposed, flattened or sliced
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
            f"{point}: its output enters more than linear layers ({', '.join(AFFINE)}), such as a "
            "norm or a residual connection; the first-layer rules do not support these"
        )
    shares = [torch.zeros_like(x) if share is None else share for share, _ in ways]
    return torch.stack(shares)[:, 0].sum(-1)

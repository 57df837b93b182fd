"""DeepLIFT: attributes the output's difference from a baseline to each input's difference from it.

A gradient is the slope at one point, a multiplier the slope between two: a unit that is flat at
the input (a dead ReLU, a saturated sigmoid) still propagates its difference from the baseline.

Parent: lrp. What differs:
- the model runs twice, on the baseline and on the input, and every nonlinearity is replaced by
  the straight line through its two points (`bent`): the rescale rule
- if both factors of a product changed, the difference is split evenly (`multiplied`); a layer norm
  is split into nonlinearities and products; a softmax has multipliers no larger than its own
  slopes (`softmax`): attention conserves its contribution
Source: Shrikumar, Greenside and Kundaje 2017, sections 3.1 to 3.3 and 3.5.2.
Book: 7.3.1.1
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.hooks import replace
from deepdive.explain.backward.layer_rules import AFFINE, CURVES, masked, unchanged
from deepdive.explain.backward.rules import Rules, depends, frozen, in_sight, passed
from deepdive.explain.gradients import gradient
from deepdive.explain.tracing import Output, from_baseline, traced

Pair = tuple[Any, Any]  # on the input, with its gradient, and on the baseline
LOST, ROUNDED = 0.01, 1e-4  # gaps are reported above these fractions of the change and the outputs
FLAT = 1e-7  # below this difference, rounding dominates the secant slope: the gradient is used


def deeplift(
    model: nn.Module, point: str, output: Output, baseline: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the contribution of each position's difference from the baseline b, and the gap.

        C[t, s] = sum over d of (x - b)[s, d] * m[t, s, d]
        m = (f(x) - f(b)) / (x - b)  for a nonlinearity f,   W  for x W + c,   chained

    `baseline` (d,) or (S, d) defaults to zero; `model` is everything `output` runs. Other arguments
    as in `gradients`.

    Returns contributions (T, S) and gap (T,): output(x) - output(b) - the row's sum, zero except
    for rounding ("summation to delta"). Where rounding was amplified (multipliers that nearly
    cancel, as those of a norm written as separate operations), a UserWarning
    reports it. Raises ValueError for a function that has no rule, and for a baseline of another
    shape.
    Source: Shrikumar et al. 2017, equations 1 to 3 (multipliers), section 3.5.2 (rescale rule).
    """
    steps: list[tuple[Any, ...]] = []  # arguments of every nonlinearity and product on the baseline

    def met(function: Any, *given: Any, **more: Any) -> Any:
        steps.append(tuple(a.detach() if isinstance(a, Tensor) else a for a in given))
        return function(*given, **more)

    linear = dict.fromkeys((*AFFINE, "addmm"), unchanged)
    x, last = (found.detach() for found in traced(model, point, output))
    start = from_baseline(baseline, x)
    with frozen(model):
        with replace(model, point, start), Rules(linear | dict.fromkeys(LINES, met)):
            first = traced(model, point, output)[1].detach()
        old = iter(steps)
        lines = {name: partial(_next, old, line) for name, line in LINES.items()}
        with Rules(linear | lines):
            multipliers = gradient(model, point, in_sight(output))
    found = (multipliers * (x - start)[0]).sum(-1)
    gap = (last - first)[0] - found.sum(-1)
    _check_gap(gap, last[0], first[0])
    return found, gap


def _check_gap(gap: Tensor, last: Tensor, first: Tensor) -> None:
    """Warn if contributions differ from the change of the output by more than rounding."""
    allowed = LOST * (last - first).abs() + ROUNDED * (last.abs() + first.abs())
    if not bool((gap.abs() <= allowed).all()):  # NaN fails the comparison
        t = int((gap.abs() - allowed).nan_to_num(nan=torch.inf).argmax())
        warnings.warn(
            f"the contributions to output {t} sum to {last[t] - first[t] - gap[t]:.3g}, but the "
            f"output changed by {last[t] - first[t]:.3g}: rounding was amplified, usually by a "
            "norm whose input is constant. Give a baseline that is a valid embedding, such as "
            "that of [MASK]",
            stacklevel=3,
        )


def bent(f: Callable[[Tensor], Tensor], x: Pair) -> Pair:
    """f, with the slope of the line through its two points as its gradient (rescale rule)."""
    (now, old), y = x, (f(x[0]), f(x[1]))
    change = (now - old).detach()
    near = change.abs() < FLAT
    slope = (y[0] - y[1]).detach() / torch.where(near, 1.0, change)
    return torch.where(near, y[0], passed(y[0], now * slope)), y[1]


def multiplied(f: Callable[[Any, Any], Tensor], a: Pair, b: Pair) -> Pair:
    """a * b, or a @ b: each factor's change is multiplied by the mean of the other factor.

    a b - a0 b0 = (a - a0) (b + b0) / 2 + (a + a0) / 2 (b - b0)
    """
    mean_a, mean_b = ((now.detach() + old) / 2 for now, old in (a, b))
    return passed(f(a[0], b[0]), f(a[0], mean_b) + f(mean_a, b[0])), f(a[1], b[1])


def softmax(x: Pair, dim: int) -> Pair:
    """exp(x) / sum of exp(x), with multipliers of the same form as a softmax's gradient:

        y_i - y0_i = l_i (dx_i - sum_j l_j dx_j / sum_j l_j),   l = (y - y0) / (log y - log y0)

    for dx = x - x0. No l is above 1, and a constant added to a row of x has no effect.
    """
    now, old = (each.softmax(dim).detach() for each in x)
    logs = x[0].log_softmax(dim).detach() - x[1].log_softmax(dim)
    near = logs.abs() < FLAT
    l = torch.where(near, now, (now - old) / torch.where(near, 1.0, logs))  # noqa: E741
    x_now = torch.where(l > 0, x[0], 0.0)  # without masked entries
    shared = (l * x_now).sum(dim, keepdim=True) / l.sum(dim, keepdim=True)
    return passed(now, l * (x_now - shared)), old


def normed(x: Pair, axes: tuple[int, ...], eps: float) -> Pair:
    """x / sqrt(mean(x^2) + eps).

    If the baseline's vectors are constant, 1 / sqrt(eps) is not a useful slope, and x alone sets
    the scale: y - y0 = r (x - x0) + rest, with the rest, which is 0 for x0 = 0, along x - x0.
    """
    squares = multiplied(torch.mul, x, x)
    means = (squares[0].mean(axes, keepdim=True) + eps, squares[1].mean(axes, keepdim=True) + eps)
    y = multiplied(torch.mul, x, bent(torch.rsqrt, means))
    change, scale = (x[0] - x[1]).detach(), means[0].rsqrt().detach()
    size = change.square().mean(axes, keepdim=True)
    constant = (means[1] <= 2 * eps) & (size > 0)
    rest = (y[0].detach() - y[1] - scale * change) / torch.where(constant, size, 1.0)
    way = scale * x[0] + rest * (change * x[0]).mean(axes, keepdim=True)
    return torch.where(constant, passed(y[0].detach(), way), y[0]), y[1]


# -- rules: called as rule(the function's arguments on the baseline, function, *given)


def _next(
    old: Iterator[tuple[Any, ...]], line: Any, function: Any, *given: Any, **more: Any
) -> Any:
    return line(next(old), function, *given, **more)


def _curve(old: tuple[Any, ...], function: Any, x: Tensor, *given: Any, **more: Any) -> Tensor:
    return bent(lambda rows: function(rows, *given, **more), (x, old[0]))[0]


def _product(old: tuple[Any, ...], function: Any, a: Any, b: Any, **more: Any) -> Tensor:
    if not (depends([a]) and depends([b])):
        return function(a, b, **more)
    return multiplied(partial(function, **more), (a, old[0]), (b, old[1]))[0]


def _quotient(old: tuple[Any, ...], function: Any, a: Any, b: Any, **more: Any) -> Tensor:
    if not depends([b]):
        return function(a, b, **more)
    below = bent(torch.reciprocal, (b, old[1]))
    return multiplied(torch.mul, (a, old[0]), below)[0] if depends([a]) else a * below[0]


def _softmax(old: tuple[Any, ...], function: Any, x: Tensor, dim: int = -1, **more: Any) -> Tensor:
    return softmax((x, old[0]), dim)[0]


def _layer_norm(
    old: tuple[Any, ...], function: Any, x: Tensor, shape: Any,
    weight: Any = None, bias: Any = None, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    axes = tuple(range(-len(shape), 0))
    centered = (x - x.mean(axes, keepdim=True), old[0] - old[0].mean(axes, keepdim=True))
    way = normed(centered, axes, eps)[0]
    return passed(function(x, shape, weight, bias, eps), way if weight is None else way * weight)


def _rms_norm(
    old: tuple[Any, ...], function: Any, x: Tensor, shape: Any,
    weight: Any = None, eps: float | None = None,
) -> Tensor:  # fmt: skip
    least = torch.finfo(x.dtype).eps if eps is None else eps
    way = normed((x, old[0]), tuple(range(-len(shape), 0)), least)[0]
    return passed(function(x, shape, weight, eps), way if weight is None else way * weight)


def _attention(
    old: tuple[Any, ...], function: Any, q: Tensor, k: Tensor, v: Tensor,
    attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, **_more: Any,
) -> Tensor:  # fmt: skip
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = multiplied(torch.matmul, (q * scale, old[0] * scale), (k.mT, old[1].mT))
    weights = softmax(tuple(masked(each, attn_mask, is_causal) for each in scores), -1)  # type: ignore[arg-type]
    return multiplied(torch.matmul, weights, (v, old[2]))[0]


LINES = {
    **dict.fromkeys((*CURVES, "rsqrt", "sqrt", "reciprocal"), _curve),
    **dict.fromkeys(("matmul", "bmm", "mul", "rmul", "imul"), _product),
    **dict.fromkeys(("truediv", "div"), _quotient),
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "scaled_dot_product_attention": _attention,
}

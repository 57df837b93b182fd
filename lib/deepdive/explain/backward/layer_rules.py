"""LRP rules: how each layer distributes its relevance among its inputs.

Each is called as rule(function, *arguments), where `function` is torch's, and returns its value
with a modified gradient (`deepdive.explain.backward.rules`). Relevance is R = x * gradient.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from deepdive.explain.backward.rules import Rule, depends, passed, shared

AFFINE = ("linear", "conv1d", "conv2d")  # (x, weight, bias, ...)
CURVES = (
    "relu", "gelu", "silu", "tanh", "sigmoid", "softplus", "elu", "leaky_relu", "clamp", "abs",
    "exp", "pow", "square", "erf",
)  # fmt: skip


def rules(epsilon: float, softmax: Rule) -> dict[str, Rule]:
    """Return the rules of `lrp`, with this epsilon for linear layers and this softmax rule."""
    return {
        **dict.fromkeys((*AFFINE, "addmm"), partial(linear, epsilon)),
        **dict.fromkeys(CURVES, pass_through),
        **dict.fromkeys(("matmul", "bmm", "mul", "rmul", "imul"), split_evenly),
        **dict.fromkeys(("truediv", "div"), normalize),
        **dict.fromkeys(("rsqrt", "sqrt", "var", "std"), constant),
        "layer_norm": layer_norm,
        "rms_norm": rms_norm,
        "softmax": softmax,
        "scaled_dot_product_attention": partial(attention, softmax),
    }


def linear(epsilon: float, function: Any, *given: Any, **more: Any) -> Tensor:
    """The epsilon rule: the bias and epsilon absorb their share of z."""
    z = function(*given, **more)
    return shared(z, z, epsilon)


def positive_parts(
    function: Any, x: Tensor, weight: Tensor, bias: Any = None, *more: Any, **named: Any
) -> Tensor:
    """The z+ rule, also for negative inputs: shares of positive contributions, without the bias."""
    above = function(x.clamp(min=0), weight.clamp(min=0), None, *more, **named)
    below = function(x.clamp(max=0), weight.clamp(max=0), None, *more, **named)
    return shared(function(x, weight, bias, *more, **named), above + below)


def positive_addmm(function: Any, bias: Tensor, x: Tensor, weight: Tensor, **named: Any) -> Tensor:
    """The z+ rule for bias + x @ weight: a linear layer with a transposed weight."""

    def layer(x: Tensor, weight: Tensor, bias: Any) -> Tensor:
        return x @ weight if bias is None else function(bias, x, weight, **named)

    return positive_parts(layer, x, weight, bias)


def pass_through(function: Any, x: Tensor, *given: Any, **more: Any) -> Tensor:
    """R_i = R_j: one input, one output."""
    return shared(function(x, *given, **more), x)


def split_evenly(function: Any, a: Any, b: Any, **more: Any) -> Tensor:
    """Half to each factor, if both depend on the explained input; a constant gets none."""
    product = function(a, b, **more)
    return passed(product, product / 2) if depends([a]) and depends([b]) else product


def normalize(function: Any, a: Any, b: Any, **more: Any) -> Any:
    """a / b, with b treated as a constant."""
    return function(a, b.detach() if isinstance(b, Tensor) else b, **more)


def constant(function: Any, *given: Any, **more: Any) -> Any:
    """A value treated as a constant."""
    return function(*given, **more).detach()


def unchanged(function: Any, *given: Any, **more: Any) -> Any:
    """The unmodified gradient."""
    return function(*given, **more)


def layer_norm(
    function: Any, x: Tensor, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """(x - mean(x)) * constant * weight + bias."""
    axes = tuple(range(-len(shape), 0))
    centered = x - x.mean(axes, keepdim=True)
    scale = (centered.square().mean(axes, keepdim=True) + eps).rsqrt().detach()
    way = centered * scale if weight is None else centered * scale * weight
    return passed(function(x, shape, weight, bias, eps), way)


def rms_norm(
    function: Any, x: Tensor, shape: Any, weight: Any = None, eps: float | None = None
) -> Tensor:
    """x * constant * weight."""
    y = function(x, shape, weight, eps)
    least = torch.finfo(x.dtype).eps if eps is None else eps
    axes = tuple(range(-len(shape), 0))
    scale = (x.square().mean(axes, keepdim=True) + least).rsqrt().detach()
    return passed(y, x * scale if weight is None else x * scale * weight)


def attention(
    weigh: Rule,
    _function: Any,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    **_more: Any,
) -> Tensor:
    """torch's fused attention, split into steps that have their own rules."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = masked(split_evenly(torch.matmul, q * scale, k.mT), attn_mask, is_causal)
    return split_evenly(torch.matmul, weigh(torch.softmax, scores, -1), v)


def masked(scores: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor:
    """Return the scores with a torch mask: bool, True = may attend, or additive."""
    lowest = torch.finfo(scores.dtype).min
    if is_causal:
        mask = torch.ones_like(scores, dtype=torch.bool).tril()
    if mask is None:
        return scores
    if mask.dtype == torch.bool:
        return scores.masked_fill(~mask, lowest)
    return (scores + mask).clamp(min=lowest)

"""MLP: multi-layer perceptron, "Learning Representations by Back-propagating Errors". Rumelhart,
Hinton and Williams 1986. Not as in the paper: the last layer has no sigmoid, so any loss can
follow, and there are no skip connections.

Long because the backward pass is implemented by hand next to the forward pass, and registered with
autograd (`_ByHand`).

System: mlp
Parent: perceptron
What differs:
- hidden layers, which have no targets: `MLP.layers`
- a differentiable activation instead of the threshold: `SIGMOID`
- back-propagation, the chain rule, computes each layer's gradient: `backward`
- gradient descent on all examples, instead of corrections at mistakes
Source: Rumelhart, Hinton and Williams 1986, equations 1 to 7.
Book: 1.1
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.checks import width
from deepdive.core.feed_forward import initialize


@dataclass(frozen=True)
class Activation:
    """Activation h = value(a), and its derivative dh/da as a function of the saved h."""

    value: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]


SIGMOID = Activation(torch.sigmoid, lambda h: h * (1 - h))
TANH = Activation(torch.tanh, lambda h: 1 - h * h)
RELU = Activation(torch.relu, lambda h: (h > 0).to(h.dtype))


def forward(x: Tensor, W: Sequence[Tensor], b: Sequence[Tensor], f: Activation) -> list[Tensor]:
    """Return the activations of every layer, the input first, the output last.

        h[0]     = x                                # (N, d[0])
        h[i + 1] = f(h[i] @ W[i]^T + b[i])          # (N, d[i + 1]); the last one without f

    `W[i]` is (d[i + 1], d[i]), `b[i]` (d[i + 1],).
    """
    h = [x]
    for i, (weight, bias) in enumerate(zip(W, b, strict=True)):
        a = h[-1] @ weight.T + bias
        h.append(a if i == len(W) - 1 else f.value(a))
    return h


def backward(
    dy: Tensor, h: Sequence[Tensor], W: Sequence[Tensor], f: Activation
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Return the gradients of the loss with respect to the input, each W and each b, from dy (N,
    d[-1]), its gradient with respect to the output.

        da[i] = dy for the last layer, dh[i + 1] * f'(h[i + 1]) for the others
        dW[i] = da[i]^T @ h[i]        db[i] = sum over N of da[i]        dh[i] = da[i] @ W[i]

    `h` is what `forward` returned. Source: Rumelhart et al. 1986, equations 4 to 7.
    """
    dW, db, dh = [], [], dy
    for i in reversed(range(len(W))):
        da = dh if i == len(W) - 1 else dh * f.slope(h[i + 1])
        dW.append(da.T @ h[i])  # (d[i + 1], d[i])
        db.append(da.sum(0))
        dh = da @ W[i]  # (N, d[i])
    return dh, dW[::-1], db[::-1]


class _ByHand(torch.autograd.Function):
    """Autograd function that makes torch call our `backward` instead of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, f: Activation, *weights: Tensor) -> Tensor:
        h = forward(x, weights[0::2], weights[1::2], f)
        ctx.f = f
        ctx.save_for_backward(*weights[0::2], *h)
        return h[-1]

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # double backward would be wrong: `h` is outside the graph
            raise RuntimeError(
                "create_graph=True: second derivatives are not implemented by hand; use "
                "torch.nn.Linear and torch.nn.Sigmoid instead"
            )
        n = len(ctx.saved_tensors) // 2  # n matrices, n + 1 layers of units
        W, h = ctx.saved_tensors[:n], ctx.saved_tensors[n:]
        dx, dW, db = backward(dy, h, W, ctx.f)
        return dx, None, *(slope for pair in zip(dW, db, strict=True) for slope in pair)


class MLP(nn.Module):
    """Multi-layer perceptron; `sizes` are the numbers of units per layer, the input's first.

    The last layer has no activation. Raises ValueError for fewer than two sizes, or one below 1.
    """

    def __init__(self, sizes: Sequence[int], f: Activation = SIGMOID) -> None:
        super().__init__()
        if len(sizes) < 2 or min(sizes) < 1:
            raise ValueError(f"sizes={list(sizes)}: expected input, ..., output size, each >= 1")
        self.layers = nn.ModuleList(nn.Linear(d_in, d_out) for d_in, d_out in pairwise(sizes))
        self.sizes, self.f = tuple(sizes), f
        initialize(*self.linear)

    @property
    def linear(self) -> list[nn.Linear]:
        """Return the linear layers, each with `weight` (d_out, d_in) and `bias` (d_out,)."""
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs (..., sizes[-1]) for x (..., sizes[0]); ValueError for another width."""
        width("x", x, self.sizes[0])
        weights = [w for layer in self.linear for w in (layer.weight, layer.bias)]
        apply: Any = _ByHand.apply  # `apply` has no type annotations
        output: Tensor = apply(x.reshape(-1, self.sizes[0]), self.f, *weights)
        return output.view(*x.shape[:-1], self.sizes[-1])

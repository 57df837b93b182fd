"""Gradient-weighted attention rollout: class-specific relevance from attention weights.

    gradient_rollout(model, "*.weights", lambda: model(tokens)[0])     # (n_classes, T)

Parent: attention_rollout. What differs:
- each weight is multiplied by its gradient of the output, and negative products are set to zero
  before heads are averaged (`positive_gradient`): there is one relevance map per class
- the residual connection adds the full identity: rows are not normalized, and do not sum to 1
Source: Chefer, Gur and Wolf 2021 ("Generic attention-model explainability").
"""

import torch
from torch import Tensor, nn

from deepdive.core.hooks import record, replace
from deepdive.explain.rollout import one_call
from deepdive.explain.tracing import Output


def positive_gradient(weights: Tensor, gradients: Tensor) -> Tensor:
    """Return A = mean over heads of max(0, gradient * weight), (B, T, T) for two of (B, H, T, T).

    Source: Chefer et al. 2021, equation 5.
    """
    return (gradients * weights).clamp(min=0).mean(1)


def gradient_rollout(model: nn.Module, pattern: str, output: Output, state: int = 0) -> Tensor:
    """Return the relevance of each input token for each output through one state, (N, T).

        R_0 = I,    R_l = R_(l-1) + A_l R_(l-1)         # A_l: `positive_gradient` of layer l

    pattern    the hook points of the layers' weights (1, H, T, T), in layer order: "*.weights"
    output     runs the model on one input and returns N numbers (N,), such as its logits
    state      the row of R_L to return: that of [CLS], the classifier's input

    Raises ValueError for several inputs, and if a point is passed in several calls.
    Source: Chefer et al. 2021, equations 5 and 6.
    """

    def in_graph(weights: Tensor) -> Tensor:
        return weights if weights.requires_grad else weights.detach().requires_grad_()

    with torch.enable_grad(), replace(model, pattern, in_graph), record(model, pattern) as seen:
        numbers = output()
    layers = one_call(seen)
    if numbers.ndim != 1 or any(layer.ndim != 4 or len(layer) != 1 for layer in layers):
        raise ValueError(
            f"output returned {tuple(numbers.shape)} from weights {tuple(layers[0].shape)}, "
            "expected (N,) from (1, H, T, T): explain one input at a time"
        )
    found = []
    for number in numbers:
        gradients = torch.autograd.grad(number, layers, retain_graph=True, materialize_grads=True)
        rolled = torch.eye(layers[0].shape[-1]).to(layers[0])
        for layer, gradient in zip(layers, gradients, strict=True):
            rolled = rolled + positive_gradient(layer.detach(), gradient)[0] @ rolled
        found.append(rolled[state])
    return torch.stack(found)

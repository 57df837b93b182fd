"""Layer-wise relevance propagation (LRP): an output is propagated back through the layers, each of
which distributes its relevance among its inputs; only biases absorb some of it.

Here relevance R = x * g is carried by a modified gradient g: sums, reshaping and residual
connections then need no rule, and each rule (`deepdive.explain.backward.layer_rules`) is a few
lines.

System: lrp
Parent: saliency
What differs:
- gradient x input, with other rules for the backward pass: a linear layer distributes by
  z = x W + b (`linear`), an activation function passes relevance unchanged (`pass_through`)
- a layer norm divides by a constant, and attention's weights are constants (`lrp`); or attention
  splits between weights and values, and the softmax passes its gradient (`attn_lrp`)
- only positive contributions count (`deep_taylor`); if inputs have both signs, the first layer has
  rules of its own (`deep_taylor_bounded`, `deep_taylor_unbounded`)
Source: Bach et al. 2015; Montavon et al. 2017; Ali et al. 2022; Achtibat et al. 2024.
Book: 7.3.1.1
"""

import torch
from torch import Tensor, nn

from deepdive.explain.backward.layer_rules import (
    AFFINE,
    constant,
    positive_addmm,
    positive_parts,
    rules,
    unchanged,
)
from deepdive.explain.backward.rules import Rule, Rules, frozen, in_sight
from deepdive.explain.gradients import gradient_x_input
from deepdive.explain.tracing import Output


def lrp(model: nn.Module, point: str, output: Output, epsilon: float = 1e-9) -> Tensor:
    """Return the relevance of each position for each output, (T, S); arguments as in `gradients`.

        linear      R_i = sum_j x_i W_ij / (z_j + epsilon sign(z_j)) R_j,    z = x W + b
        activation  R_i = R_j
        layer norm  as a linear layer: the standard deviation is treated as a constant
        attention   as a linear layer of the values: the weights are treated as constants

    Without biases, a row sums to output[t] up to epsilon; `conservation_gap` returns the
    difference. `model` is everything that `output` runs. Raises ValueError for a function that has
    no rule.
    Source: Ali et al. 2022 (LN-rule and AH-rule); Bach et al. 2015, equation 58.
    """
    return _relevance(model, point, output, rules(epsilon, constant))


def attn_lrp(model: nn.Module, point: str, output: Output, epsilon: float = 1e-9) -> Tensor:
    """Return the relevance of each position for each output, (T, S), also through the weights.

        softmax     R_i = x_i (R_i - y_i sum_j R_j)           # its gradient x input
        products    half of a product's relevance to each factor

    The rest as in `lrp`. The softmax's Taylor expansion has a constant, which absorbs relevance
    like a bias, so a row does not sum to output[t] (`conservation_gap`).
    Source: Achtibat et al. 2024, propositions 3.1 (softmax) and 3.3 (matrix multiplication).
    """
    return _relevance(model, point, output, rules(epsilon, unchanged))


def deep_taylor(model: nn.Module, point: str, output: Output) -> Tensor:
    """Return the relevance of each position for each output, (T, S), by positive contributions:

        linear      R_i = sum_j p_ij / (sum_i p_ij) R_j,    p_ij = max(0, x_i W_ij)

    The rest as in `lrp`. For a ReLU network and inputs that are not negative this is deep Taylor
    decomposition's z+ rule: all relevance has the sign of output[t], and if output[t] is positive
    and no bias is, a row sums to it.
    Source: Montavon et al. 2017 (z+ rule; there x is not negative); Bach et al. 2015, equation 60,
    with alpha = 1 and beta = 0, for inputs of both signs.
    """
    return _relevance(model, point, output, deep_taylor_rules())


def conservation_gap(output: Output, relevance: Tensor) -> Tensor:
    """Return output[t] - the sum of row t of its `relevance`, (T,) for (T, S).

    It is the relevance that did not reach the input: absorbed by biases, epsilon, and, in
    `attn_lrp`, the softmax's constant. Raises ValueError if `output` does not return T numbers.
    Source: Bach et al. 2015, equation 2 (conservation).
    """
    with torch.no_grad():
        numbers = output()
    if numbers.shape != relevance.shape[:1]:
        raise ValueError(
            f"relevance is {tuple(relevance.shape)}, but output returns {tuple(numbers.shape)}; "
            "give the output that was explained"
        )
    return numbers - relevance.sum(-1)


def deep_taylor_rules() -> dict[str, Rule]:
    """The rules of `deep_taylor`, as a dictionary to override."""
    alone: dict[str, Rule] = dict.fromkeys(AFFINE, positive_parts)
    alone["addmm"] = positive_addmm
    return {**rules(0.0, constant), **alone}


def _relevance(model: nn.Module, point: str, output: Output, chosen: dict[str, Rule]) -> Tensor:
    with frozen(model), Rules(chosen):
        return gradient_x_input(model, point, in_sight(output))

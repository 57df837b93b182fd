"""Layer-wise relevance propagation: an output is handed back through the layers, each of which
shares what it got among its inputs, so that nothing is lost but what the biases take.

In the form used here, relevance R = x * g is carried by a changed gradient g: sums, reshaping and
residual connections then need no rule, and each rule (`deepdive.explain.backward.layer_rules`) is a
few lines.

System: lrp
Parent: saliency
What differs:
- gradient x input, with other rules for the backward pass: a linear layer shares by z = x W + b
  (`linear`), an activation hands on what it got (`pass_through`)
- a layer norm divides by a constant, and attention's weights are constants (`lrp`); or attention
  shares between weights and values, and the softmax passes its gradient (`attn_lrp`)
- only what speaks for the output is shared (`deep_taylor`); where inputs have both signs, the first
  layer has rules of its own (`deep_taylor_bounded`, `deep_taylor_unbounded`)
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
    """Return the relevance of each row for each number, (T, S); arguments as in `gradients`.

        linear      R_i = sum_j x_i W_ij / (z_j + epsilon sign(z_j)) R_j,    z = x W + b
        activation  R_i = R_j
        layer norm  as a linear layer: the deviation counts as a constant
        attention   as a linear layer of the values: the weights count as constants

    Where no bias adds anything, a row sums to output[t] but for epsilon; `conservation_gap` says
    by how much a row misses it. `model` is all that `output` runs. Raises ValueError for a
    function that has no rule.
    Source: Ali et al. 2022 (LN-rule and AH-rule); Bach et al. 2015, equation 58.
    """
    return _relevance(model, point, output, rules(epsilon, constant))


def attn_lrp(model: nn.Module, point: str, output: Output, epsilon: float = 1e-9) -> Tensor:
    """Return the relevance of each row for each number, (T, S), through attention's weights too.

        softmax     R_i = x_i (R_i - y_i sum_j R_j)           # its gradient x input
        products    half of what a product got to each factor

    The rest as in `lrp`. The softmax has an expansion with a constant, which takes relevance as a
    bias does, so that a row does not sum to output[t] (`conservation_gap`).
    Source: Achtibat et al. 2024, propositions 3.1 (softmax) and 3.3 (matrix multiplication).
    """
    return _relevance(model, point, output, rules(epsilon, unchanged))


def deep_taylor(model: nn.Module, point: str, output: Output) -> Tensor:
    """Return the relevance of each row for each number, (T, S), by what speaks for it alone:

        linear      R_i = sum_j p_ij / (sum_i p_ij) R_j,    p_ij = max(0, x_i W_ij)

    The rest as in `lrp`. For a network of ReLU and inputs that are not negative this is deep
    Taylor decomposition's z+ rule: all relevance has the sign of output[t], and where output[t] is
    positive and no bias is, a row sums to it.
    Source: Montavon et al. 2017 (z+ rule; there x is not negative); Bach et al. 2015, equation 60,
    with alpha = 1 and beta = 0, for inputs of both signs.
    """
    return _relevance(model, point, output, deep_taylor_rules())


def conservation_gap(output: Output, relevance: Tensor) -> Tensor:
    """Return output[t] - the sum of row t of its `relevance`, (T,) for (T, S).

    It is the relevance that was not handed back to the rows: what biases, epsilon, and, in
    `attn_lrp`, the softmax's constant took. Raises ValueError where `output` gives other than T
    numbers. Source: Bach et al. 2015, equation 2 (conservation).
    """
    with torch.no_grad():
        numbers = output()
    if numbers.shape != relevance.shape[:1]:
        raise ValueError(
            f"relevance is {tuple(relevance.shape)}, but output gives {tuple(numbers.shape)}: give "
            "the output that was explained"
        )
    return numbers - relevance.sum(-1)


def deep_taylor_rules() -> dict[str, Rule]:
    """The rules of `deep_taylor`, for those who exchange some of them."""
    alone: dict[str, Rule] = dict.fromkeys(AFFINE, positive_parts)
    alone["addmm"] = positive_addmm
    return {**rules(0.0, constant), **alone}


def _relevance(model: nn.Module, point: str, output: Output, chosen: dict[str, Rule]) -> Tensor:
    with frozen(model), Rules(chosen):
        return gradient_x_input(model, point, in_sight(output))

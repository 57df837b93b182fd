"""The position-wise feed-forward layer, its activations, and its gated form."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import numbers, positive

Activation = Callable[[Tensor], Tensor]


def relu(x: Tensor) -> Tensor:
    """max(0, x)."""
    return F.relu(x)


def gelu(x: Tensor) -> Tensor:
    """x * Phi(x), Phi the normal distribution function. Source: Hendrycks and Gimpel 2016, section
    2.
    """
    return F.gelu(x)


def gelu_tanh(x: Tensor) -> Tensor:
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): GELU's first approximation (within 5e-4
    of it).
    """
    return F.gelu(x, approximate="tanh")


def gelu_sigmoid(x: Tensor) -> Tensor:
    """x * sigmoid(1.702 x): GELU's second approximation (within 0.021 of it)."""
    return x * torch.sigmoid(1.702 * x)


class FeedForward(nn.Module):
    """out(activation(inner(x))), at each position separately: d_model -> d_ff -> d_model.

    System: ffn
    Parent: mlp
    What differs:
    - the same two layers at every position, each position separately
    - it is a sublayer: from d_model to d_model, `d_ff` units between; `activation` ReLU or GELU
    Source: Vaswani et al. 2017, section 3.3, equation 2 (there the activation is ReLU).
    Book: 2.4.4
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Activation = relu,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        positive(d_model=d_model, d_ff=d_ff)
        numbers(0.0, 1.0, dropout=dropout)
        self.inner = nn.Linear(d_model, d_ff, bias=bias)
        self.out = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = activation
        self.dropout = nn.Dropout(dropout)
        initialize(self.inner, self.out)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., d_model) for x (..., d_model)."""
        return self.out(self.dropout(self.activation(self.inner(x))))


class GatedFeedForward(nn.Module):
    """Gated linear unit, out(activation(gate(x)) * inner(x)): one branch gates the other.

    With three matrices instead of two, 2/3 of the plain layer's d_ff keeps the number of
    parameters. `F.silu` gives SwiGLU, `gelu` GEGLU, `torch.sigmoid` GLU.

    System: glu_variants
    Parent: ffn
    What differs:
    - a third matrix (`gate`): its branch, after the activation, multiplies the other (`inner`)
    Source: Dauphin et al. 2017; Shazeer 2020, equation 6.
    Book: 1.2.1.2
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Activation = F.silu,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        positive(d_model=d_model, d_ff=d_ff)
        numbers(0.0, 1.0, dropout=dropout)
        self.gate = nn.Linear(d_model, d_ff, bias=bias)
        self.inner = nn.Linear(d_model, d_ff, bias=bias)
        self.out = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = activation
        self.dropout = nn.Dropout(dropout)
        initialize(self.gate, self.inner, self.out)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., d_model) for x (..., d_model)."""
        return self.out(self.dropout(self.activation(self.gate(x)) * self.inner(x)))


def initialize(*layers: nn.Linear) -> None:
    """Initialize weights from Glorot's uniform distribution, U(-a, a) with a = sqrt(6 / (fan_in +
    fan_out)); biases 0.
    """
    for layer in layers:
        bound = math.sqrt(6 / (layer.in_features + layer.out_features))
        nn.init.uniform_(layer.weight, -bound, bound)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)

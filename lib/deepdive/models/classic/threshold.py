"""Threshold logic unit, "A Logical Calculus of the Ideas Immanent in Nervous Activity". McCulloch
and Pitts 1943.

Weights and threshold are set by hand: nothing is learned. All but two of the 16 Boolean functions
of two inputs are one unit; XOR is a network of three (`xor`).

Not as in the paper: there all excitatory inputs have weight 1, and one inhibitory input prevents
firing regardless of the others. A weight below minus the number of excitatory inputs does that here
(`veto`). Time, which the paper's networks need for loops, is left out.

System: tlu
Parent: none
What differs:
- a neuron is a weighted sum and a threshold: `ThresholdUnit`
- the threshold determines the logical function: `at_least`
- one inhibitory input can prevent firing: `veto`
Source: McCulloch and Pitts 1943, section 2.
Book: 1.1
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from deepdive.core.checks import width


@dataclass(frozen=True)
class ThresholdUnit:
    """Threshold unit: y = 1 if sum over i of w[i] * x[i] >= theta else 0, with weights `w` (d,).

    Raises ValueError for weights that are not a non-empty vector.
    """

    w: Tensor
    theta: float

    def __post_init__(self) -> None:
        if self.w.ndim != 1 or not len(self.w):
            raise ValueError(f"w: got {tuple(self.w.shape)}, expected one weight per input, (d,)")

    def __call__(self, x: Tensor) -> Tensor:
        """Return outputs 0 or 1 (...) for inputs x (..., d); ValueError for another width."""
        width("x", x, len(self.w))
        return (x.to(self.w.dtype) @ self.w >= self.theta).to(self.w.dtype)


def at_least(k: int, n: int) -> ThresholdUnit:
    """Return the unit that fires when k or more of n inputs are 1: OR for k = 1, AND for k = n.

    Raises ValueError unless 1 <= k <= n: other units would never or always fire.
    """
    if not 1 <= k <= n:
        raise ValueError(f"k={k} of n={n} inputs; expected 1 <= k <= n")
    return ThresholdUnit(torch.ones(n), float(k))


def veto(k: int, n: int) -> ThresholdUnit:
    """Return the unit of n + 1 inputs that fires when k or more of the first n are 1 and the last,
    inhibitory one is 0. Its weight is -n, which outweighs all the others together.

    Source: McCulloch and Pitts 1943, section 2, assumption 4.
    """
    return ThresholdUnit(torch.cat([at_least(k, n).w, torch.tensor([-float(n)])]), float(k))


def xor(x: Tensor) -> Tensor:
    """Return 1 (...) where exactly one of the two bits x (..., 2) is 1: OR, inhibited by AND."""
    either, both = at_least(1, 2)(x), at_least(2, 2)(x)
    return veto(1, 1)(torch.stack([either, both], dim=-1))

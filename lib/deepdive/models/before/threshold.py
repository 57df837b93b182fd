"""The threshold logic unit, "A Logical Calculus of the Ideas Immanent in Nervous Activity".
McCulloch and Pitts 1943. And Hebb's rule, by which such units may come to be wired (1949).

The unit's numbers are set by hand: nothing is learned. Each of the 16 functions of two bits but two
is one unit; XOR is a net of three (`xor`).

Not as in the paper: there all exciting inputs count 1, and one inhibiting input silences the unit
whatever the others say. A weight below minus the number of exciting inputs does that here
(`veto`). Time, which the paper's nets need for loops, is left out.

System: tlu
Parent: none
What differs:
- a neuron is a sum and a threshold: `ThresholdUnit`
- logic is a choice of threshold: `at_least`
- one input can silence the unit: `veto`
Source: McCulloch and Pitts 1943, section 2.
Book: 1.1
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class ThresholdUnit:
    """Fire when the weighted sum reaches the threshold.

        y = 1 if sum over i of w[i] * x[i] >= theta else 0

    `w` (d,) are the weights, `theta` the threshold. Raises ValueError for weights that are no row.
    """

    w: Tensor
    theta: float

    def __post_init__(self) -> None:
        if self.w.ndim != 1 or not len(self.w):
            raise ValueError(f"w has shape {tuple(self.w.shape)}; give one weight an input: (d,)")

    def __call__(self, x: Tensor) -> Tensor:
        """Return 0 or 1 (...) for inputs x (..., d). Raises ValueError for another width."""
        if x.ndim < 1 or x.shape[-1] != len(self.w):
            raise ValueError(
                f"x has shape {tuple(x.shape)}; the unit has {len(self.w)} weights: its last side "
                f"must be {len(self.w)}"
            )
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
    which inhibits, is 0. Its weight is -n: all others together cannot make up for it.

    Source: McCulloch and Pitts 1943, section 2, assumption 4.
    """
    return ThresholdUnit(torch.cat([at_least(k, n).w, torch.tensor([-float(n)])]), float(k))


def xor(x: Tensor) -> Tensor:
    """Return 1 (...) where exactly one of the two bits x (..., 2) is 1: OR, silenced by AND."""
    either, both = at_least(1, 2)(x), at_least(2, 2)(x)
    return veto(1, 1)(torch.stack([either, both], dim=-1))


class Hebb:
    """Hebb's rule: a connection grows when both of its ends are active together.

        W += lr * y x^T      for each pair x (d_in,), y (d_out,), so W = lr * sum of y x^T

    `recall(x)` answers W x: with rows x at right angles and of length 1, and lr 1, the y that came
    with x. With others, what is alike answers too. Nothing makes a weight smaller: see `oja`.

    System: hebb
    Parent: tlu
    What differs:
    - the weights come from what was seen: `Hebb.learn`
    - no teacher and no error enter: two activities that meet are enough
    - units answer with numbers, without a threshold: `Hebb.recall`
    Source: Hebb 1949, chapter 4; its limit: Oja 1982.
    Book: 1.1
    """

    def __init__(self, d_in: int, d_out: int, lr: float = 1.0) -> None:
        if d_in < 1 or d_out < 1:
            raise ValueError(f"d_in={d_in} and d_out={d_out} must be 1 or more")
        self.W, self.lr = torch.zeros(d_out, d_in, dtype=torch.float64), lr

    def learn(self, x: Tensor, y: Tensor) -> None:
        """Add the pairs x (N, d_in), y (N, d_out), in any order: it does not matter.

        Raises ValueError for shapes that do not fit.
        """
        wanted = (len(x), self.W.shape[1]), (len(x), self.W.shape[0])
        if (tuple(x.shape), tuple(y.shape)) != wanted:
            raise ValueError(
                f"x {tuple(x.shape)} and y {tuple(y.shape)}; expected {wanted[0]} and {wanted[1]}: "
                "one row a pair"
            )
        self.W = self.W + self.lr * y.to(self.W).T @ x.to(self.W)

    def recall(self, x: Tensor) -> Tensor:
        """Return W x (N, d_out) for x (N, d_in)."""
        return x.to(self.W) @ self.W.T


def oja(w: Tensor, x: Tensor, lr: float) -> Tensor:
    """Return the weights w (d,) after one step of Hebb's rule with Oja's brake, for one x (d,).

        y = w . x
        w = w + lr * y * (x - y * w)

    The first term is Hebb's; the second keeps |w| near 1. Over many x of mean 0, w turns to the
    direction in which they vary most. Source: Oja 1982.
    """
    y = w @ x
    return w + lr * y * (x - y * w)

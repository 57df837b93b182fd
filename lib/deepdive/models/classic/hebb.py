"""Hebb's rule: an unsupervised learning rule in which a connection grows when both of its ends are
active together. Hebb 1949, "The Organization of Behavior".

Nothing in the rule makes a weight smaller; Oja's rule adds a decay term (`oja`).

System: hebb
Parent: tlu
What differs:
- weights are learned from examples: `Hebb.learn`
- learning needs no labels and no error, only correlated activities
- units are linear, without a threshold: `Hebb.recall`
Source: Hebb 1949, chapter 4; its limit: Oja 1982.
Book: 1.1
"""

import torch
from torch import Tensor

from deepdive.core.checks import positive


class Hebb:
    """Associative memory, W += lr * y x^T for each pair x (d_in,), y (d_out,): W = lr * sum y x^T.

    With orthonormal vectors x and lr 1, `recall(x)` is the y paired with x. Otherwise the y of
    similar x are added (crosstalk).
    """

    def __init__(self, d_in: int, d_out: int, lr: float = 1.0) -> None:
        positive(d_in=d_in, d_out=d_out)
        self.W, self.lr = torch.zeros(d_out, d_in, dtype=torch.float64), lr

    def learn(self, x: Tensor, y: Tensor) -> None:
        """Add the pairs x (N, d_in), y (N, d_out), in any order. Raises ValueError for others."""
        d_out, d_in = self.W.shape
        if (x.shape, y.shape) != ((len(x), d_in), (len(x), d_out)):
            raise ValueError(
                f"x {tuple(x.shape)} and y {tuple(y.shape)}; expected (N, {d_in}) and (N, {d_out})"
            )
        self.W = self.W + self.lr * y.to(self.W).T @ x.to(self.W)

    def recall(self, x: Tensor) -> Tensor:
        """Return W x (N, d_out) for x (N, d_in)."""
        return x.to(self.W) @ self.W.T


def oja(w: Tensor, x: Tensor, lr: float) -> Tensor:
    """Return the weights w (d,) after one step of Oja's rule for one input x (d,).

        y = w . x
        w = w + lr * y * (x - y * w)

    The first term is Hebb's; the second keeps |w| near 1. Over many x of mean 0, w converges to the
    first principal component, the direction of largest variance. Source: Oja 1982.
    """
    y = w @ x
    return w + lr * y * (x - y * w)

"""Hebb's rule, by which threshold units may come to be wired: a connection grows when both of its
ends are active together. Hebb 1949, "The Organization of Behavior".

Nothing in the rule makes a weight smaller; Oja's form of it has a brake (`oja`).

System: hebb
Parent: tlu
What differs:
- the weights come from what was seen: `Hebb.learn`
- no teacher and no error enter: two activities that meet are enough
- units answer with numbers, without a threshold: `Hebb.recall`
Source: Hebb 1949, chapter 4; its limit: Oja 1982.
Book: 1.1
"""

import torch
from torch import Tensor

from deepdive.core.checks import positive


class Hebb:
    """W += lr * y x^T      for each pair x (d_in,), y (d_out,), so W = lr * sum of y x^T

    With rows x at right angles and of length 1, and lr 1, `recall(x)` is the y that came with x.
    With others, what is alike answers too.
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
    """Return the weights w (d,) after one step of Hebb's rule with Oja's brake, for one x (d,).

        y = w . x
        w = w + lr * y * (x - y * w)

    The first term is Hebb's; the second keeps |w| near 1. Over many x of mean 0, w turns to the
    direction in which they vary most. Source: Oja 1982.
    """
    y = w @ x
    return w + lr * y * (x - y * w)

"""Perceptron: an online linear classifier, "The Perceptron: A Probabilistic Model for Information
Storage and Organization in the Brain". Rosenblatt 1958. Its limits: Minsky and Papert 1969.

A threshold unit that updates its weights at each mistake. If the classes are linearly separable, it
makes a finite number of mistakes (`mistake_bound`); if not, as for XOR, it never stops making
mistakes, and with integers its weights go through a cycle.

Not as in the paper: Rosenblatt's first layer of fixed random connections is left out; x is that
layer's output. The learning rule is that of his later, error-correcting form (1962).

Long because it also has the record of its training, mistake by mistake (`TrainingRun`), and the
bound of the convergence theorem (`mistake_bound`).

System: perceptron
Parent: tlu
What differs:
- weights and threshold are learned, only from mistakes: `Perceptron.learn`
- the threshold is a bias, one more weight with a constant input of 1: `Perceptron.b`
- the labels are -1 and +1, so a mistake is a product below 0: `Perceptron.margin`
Source: Rosenblatt 1958; Novikoff 1962; Minsky and Papert 1969, chapter 11.
Book: 1.1
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from deepdive.core.checks import positive, width


@dataclass(frozen=True)
class Update:
    """Update at a mistake on example `index`; `w` (d,) and `b` are the new weights."""

    index: int
    w: Tensor
    b: float


@dataclass(frozen=True)
class TrainingRun:
    """Record of `learn`: the mistakes in order; the first epoch without one (`clean`); the epoch
    after which the weights equal those of an earlier one (`circle`): it then never converges.
    """

    mistakes: list[Update]
    clean: int | None = None
    circle: int | None = None


class Perceptron:
    """Linear classifier, +1 if w . x + b > 0 else -1; float64 `w` (d,) and `b`, 0 unless given."""

    def __init__(self, d: int, w: Tensor | None = None, b: float = 0.0, lr: float = 1.0) -> None:
        positive(d=d)
        self.w = torch.zeros(d, dtype=torch.float64) if w is None else w.double().clone()
        width("w", self.w, d)
        self.b, self.lr = float(b), lr

    def decide(self, x: Tensor) -> Tensor:
        """Return predictions -1 or +1 (N,) for x (N, d)."""
        return torch.where(x.double() @ self.w + self.b > 0, 1, -1)

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """Return margins y * (w . x + b) (N,): above 0 where the prediction is correct."""
        return y.double() * (x.double() @ self.w + self.b)

    def learn(self, x: Tensor, y: Tensor, passes: int = 100) -> TrainingRun:
        """Train on examples x (N, d), y (N,) of -1 and +1, in their order, until an epoch has no
        mistake, or the weights repeat, or for `passes` epochs. At each mistake

            w = w + lr * y[i] * x[i]
            b = b + lr * y[i]

        An example on the decision boundary is a mistake. Raises ValueError for other labels.
        """
        width("x", x, len(self.w))
        if not len(x) or y.shape != (len(x),) or not ((y == 1) | (y == -1)).all():
            raise ValueError(
                f"x {tuple(x.shape)}, y {tuple(y.shape)} with {sorted(set(y.tolist()))[:4]}; "
                "expected a label -1 or +1 for each row of x, and at least one row"
            )
        mistakes: list[Update] = []
        earlier = [(*self.w.tolist(), self.b)]
        for number in range(passes):
            before = len(mistakes)
            for i in range(len(x)):
                if self.margin(x[i : i + 1], y[i : i + 1]).item() <= 0:
                    self.w = self.w + self.lr * y[i].item() * x[i].double()
                    self.b += self.lr * y[i].item()
                    mistakes.append(Update(i, self.w, self.b))
            if len(mistakes) == before:
                return TrainingRun(mistakes, clean=number)
            if (weights := (*self.w.tolist(), self.b)) in earlier:
                return TrainingRun(mistakes, circle=number)
            earlier.append(weights)
        return TrainingRun(mistakes)


def mistake_bound(x: Tensor, y: Tensor, w: Tensor, b: float) -> float:
    """Return the maximum number of mistakes of a perceptron initialized to 0 on x (N, d), y (N,).

        (R / gamma)^2      R     = max over i of |[x[i], 1]|
                           gamma = min over i of y[i] * (w . x[i] + b) / |[w, b]|

    (w, b) is any separating hyperplane: the wider its margin, the tighter the bound. It holds for
    any order and any learning rate. Raises ValueError if (w, b) does not separate the classes.
    Source: Novikoff 1962.
    """
    margins = Perceptron(len(w), w, b).margin(x, y)
    if margins.min() <= 0:
        raise ValueError(
            f"example {int(margins.argmin())} has margin {margins.min():.3g}; give a separating "
            "hyperplane (w, b): all margins above 0"
        )
    length = torch.cat([w.double(), torch.tensor([b], dtype=torch.float64)]).norm()
    R = (x.double().square().sum(1) + 1).sqrt().max()
    return ((R * length / margins.min()) ** 2).item()

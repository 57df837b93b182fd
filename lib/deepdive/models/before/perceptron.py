"""The perceptron, "The Perceptron: A Probabilistic Model for Information Storage and Organization
in the Brain". Rosenblatt 1958. What it cannot learn: Minsky and Papert 1969.

A threshold unit that changes its weights whenever it is wrong. Where a line separates the two
classes, it is wrong a finite number of times (`mistake_bound`); where none does, as for XOR, it is
wrong for ever, and with whole numbers its weights go round in a circle (`Perceptron.learn` says
when they come back).

Not as in the paper: Rosenblatt's first layer of fixed random connections is left out; x is what it
would hand over. The rule is that of his later, error-correcting form (1962).

System: perceptron
Parent: tlu
What differs:
- weights and threshold are learned, from mistakes alone: `Perceptron.learn`
- the threshold is one more weight, of an input that is always 1: `Perceptron.b`
- two classes are -1 and +1, so that a mistake is a product below 0: `Perceptron.margin`
Source: Rosenblatt 1958; Novikoff 1962; Minsky and Papert 1969, chapter 11.
Book: 1.1
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Mistake:
    """Example `index` was wrong in pass `number`; `w` (d,) and `b` are the weights afterwards."""

    number: int
    index: int
    w: Tensor
    b: float


@dataclass(frozen=True)
class Lesson:
    """What `learn` did: the mistakes in order; the first pass without one; the pass after which the
    weights were those after an earlier pass. Where `circle` is a pass, none without a mistake will
    ever come.
    """

    mistakes: list[Mistake]
    clean: int | None = None
    circle: int | None = None


class Perceptron:
    """decide(x) = +1 if w . x + b > 0 else -1, with weights in float64.

    `w` (d,) and `b` start at 0 unless given. Raises ValueError for d below 1.
    """

    def __init__(self, d: int, w: Tensor | None = None, b: float = 0.0, lr: float = 1.0) -> None:
        if d < 1 or (w is not None and tuple(w.shape) != (d,)):
            came = None if w is None else tuple(w.shape)
            raise ValueError(f"d={d}, w {came}; expected d of 1 or more, and w ({d},)")
        self.w = torch.zeros(d, dtype=torch.float64) if w is None else w.double().clone()
        self.b, self.lr = float(b), lr

    def decide(self, x: Tensor) -> Tensor:
        """Return -1 or +1 (N,) for x (N, d)."""
        return torch.where(x.double() @ self.w + self.b > 0, 1, -1)

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """Return y * (w . x + b) (N,): above 0 where the answer is right."""
        return y.double() * (x.double() @ self.w + self.b)

    def learn(self, x: Tensor, y: Tensor, passes: int = 100) -> Lesson:
        """Go through the examples x (N, d), y (N,) of -1 and +1, in their order, until a pass has
        no mistake, or the weights come back, or for `passes` passes. At each mistake

            w = w + lr * y[i] * x[i]
            b = b + lr * y[i]

        An example on the line itself counts as a mistake. Raises ValueError for labels that are not
        -1 and +1, or shapes that do not fit.
        """
        _check(x, y, len(self.w))
        mistakes: list[Mistake] = []
        seen = [self._weights()]
        for number in range(passes):
            before = len(mistakes)
            for i in range(len(x)):
                if self.margin(x[i : i + 1], y[i : i + 1]).item() <= 0:
                    self.w = self.w + self.lr * y[i].item() * x[i].double()
                    self.b += self.lr * y[i].item()
                    mistakes.append(Mistake(number, i, self.w, self.b))
            if len(mistakes) == before:
                return Lesson(mistakes, clean=number)
            if self._weights() in seen:
                return Lesson(mistakes, circle=number)
            seen.append(self._weights())
        return Lesson(mistakes)

    def _weights(self) -> tuple[float, ...]:
        return (*self.w.tolist(), self.b)


def mistake_bound(x: Tensor, y: Tensor, w: Tensor, b: float) -> float:
    """Return the most mistakes that a perceptron which starts at 0 can make on x (N, d), y (N,).

        (R / gamma)^2      R     = max over i of |[x[i], 1]|
                           gamma = min over i of y[i] * (w . x[i] + b) / |[w, b]|

    (w, b) is any line that separates them: the wider its margin, the sharper the bound. It holds
    in any order and for any learning rate. Raises ValueError where (w, b) does not separate.
    Source: Novikoff 1962.
    """
    _check(x, y, len(w))
    margins = Perceptron(len(w), w, b).margin(x, y)
    if margins.min() <= 0:
        raise ValueError(
            f"w and b do not separate: example {int(margins.argmin())} has the margin "
            f"{margins.min():.3g}; give a line with all margins above 0"
        )
    length = torch.cat([w.double(), torch.tensor([b], dtype=torch.float64)]).norm()
    R = (x.double().square().sum(1) + 1).sqrt().max()
    return ((R * length / margins.min()) ** 2).item()


def _check(x: Tensor, y: Tensor, d: int) -> None:
    if x.ndim != 2 or x.shape[1] != d or not len(x) or tuple(y.shape) != (len(x),):
        raise ValueError(
            f"x {tuple(x.shape)}, y {tuple(y.shape)}; expected x (N, {d}), not empty, and y (N,)"
        )
    if not ((y == 1) | (y == -1)).all():
        raise ValueError(f"y holds {sorted(set(y.tolist()))[:4]}; expected labels -1 and +1")

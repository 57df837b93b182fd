"""Activation maximisation: the input that a model would most like to see, as rows of numbers; and
the words that are nearest to it.

    rows, number = maximise(model, "*.embedded", lambda: model(tokens)[0, :1], norm=5.0)
    nearest(rows, model.encoder.embeddings.tokens.weight)       # (S, 5): ids of words

System: activation_maximisation
Parent: saliency
What differs:
- the gradient is not read but followed: the rows climb until the output grows no more (`maximise`)
- each row keeps its length, or the output would grow without end; between words there is nothing
  that a text could say, so the nearest words (`nearest`) are a hint and not what was found
Source: Simonyan, Vedaldi and Zisserman 2014, section 2 (there a penalty, not a length); Erhan et
al. 2009.
Book: 7.3.1.1
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.hooks import replace
from deepdive.explain.tracing import Output, traced


def maximise(
    model: nn.Module,
    point: str,
    output: Output,
    norm: float,
    steps: int = 100,
    rate: float = 0.2,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, float]:
    """Return the rows (S, d), each of length `norm`, at which output() is largest, and that number.

        x = norm * unit(x + rate * norm * unit(gradient of the output in x)),   unit(x) = x / |x|

    for each row, from a random start; the best of all steps is returned, and the rate falls to 0 in
    a straight line. A row that the output does not read stays where it started. `output` runs the
    model on one input and returns one number (1,); a local maximum is all that is promised.
    Raises ValueError for a norm or steps that are not positive, and for more numbers than one.
    Source: Simonyan et al. 2014, equation 1.
    """
    positive(steps=steps)
    if norm <= 0:
        raise ValueError(f"norm must be above 0; got {norm}: the mean length of real rows is usual")
    shape = traced(model, point, output)[0]
    start = torch.randn(shape.shape, generator=generator, dtype=shape.dtype).to(shape.device)
    x = norm * _unit(start)
    best, reached = x, -float("inf")
    for step in range(steps + 1):
        with replace(model, point, x):
            rows, numbers = traced(model, point, output)
        if numbers.shape != (1, 1):
            raise ValueError(
                f"output returned {tuple(numbers.shape)[1:]}, expected one number (1,)"
            )
        if numbers.item() > reached:
            best, reached = x, numbers.item()
        (uphill,) = torch.autograd.grad(numbers[0, 0], rows)
        x = norm * _unit(x + rate * (1 - step / steps) * norm * _unit(uphill))
    return best[0], reached


def nearest(rows: Tensor, table: Tensor, k: int = 5) -> Tensor:
    """Return the ids of the k words whose rows of the table (V, d) have the largest cosine with
    each of rows (S, d), the nearest first, (S, k).
    """
    if not 1 <= k <= len(table):
        raise ValueError(f"k={k}: expected 1 to {len(table)}, the words of the table")
    return (_unit(rows) @ _unit(table.detach()).T).topk(k, -1).indices


def _unit(x: Tensor) -> Tensor:
    return x / x.norm(dim=-1, keepdim=True).clamp(min=torch.finfo(x.dtype).tiny)

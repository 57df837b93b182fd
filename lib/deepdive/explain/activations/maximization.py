"""Activation maximization: the input embeddings that maximize an output, by gradient ascent; and
the words nearest to them.

    rows, number = maximise(model, "*.embedded", lambda: model(tokens)[0, :1], norm=5.0)
    nearest(rows, model.encoder.embeddings.tokens.weight)       # (S, 5): ids of words

System: activation_maximisation
Parent: saliency
What differs:
- the gradient is followed, not displayed: gradient ascent on the embeddings (`maximize`)
- each embedding's norm is fixed, or the output could grow without bound; the result is not the
  embedding of any word, so the nearest words (`nearest`) are a hint, not what was found
Source: Simonyan, Vedaldi and Zisserman 2014, section 2 (there a penalty, not a length); Erhan et
al. 2009.
Book: 7.3.1.1
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.hooks import replace
from deepdive.explain.tracing import Output, traced


def maximize(
    model: nn.Module,
    point: str,
    output: Output,
    norm: float,
    steps: int = 100,
    rate: float = 0.2,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, float]:
    """Return embeddings (S, d), each of norm `norm`, that maximize output(), and that maximum.

        x = norm * unit(x + rate * norm * unit(gradient of the output in x)),   unit(x) = x / |x|

    for each position, from a random initialization; the best of all steps is returned, and the rate
    decays linearly to 0. Embeddings without effect on the output keep their initial value. `output`
    runs the model on one input and returns one number (1,); only a local maximum is guaranteed.
    Raises ValueError for a norm or steps that are not positive, and for more than one number.
    Source: Simonyan et al. 2014, equation 1.
    """
    positive(steps=steps)
    if norm <= 0:
        raise ValueError(f"norm: got {norm}, expected above 0; try the embeddings' mean norm")
    shape = traced(model, point, output)[0]
    start = torch.randn(shape.shape, generator=generator, dtype=shape.dtype).to(shape.device)
    x = norm * _unit(start)
    best, best_output = x, -float("inf")
    for step in range(steps + 1):
        with replace(model, point, x):
            rows, numbers = traced(model, point, output)
        if numbers.shape != (1, 1):
            raise ValueError(
                f"output returned {tuple(numbers.shape)[1:]}, expected one number (1,)"
            )
        if numbers.item() > best_output:
            best, best_output = x, numbers.item()
        (uphill,) = torch.autograd.grad(numbers[0, 0], rows)
        x = norm * _unit(x + rate * (1 - step / steps) * norm * _unit(uphill))
    return best[0], best_output


def nearest(rows: Tensor, table: Tensor, k: int = 5) -> Tensor:
    """Return the ids of the k words whose embeddings in the table (V, d) have the largest cosine
    similarity with each of `rows` (S, d), the nearest first, (S, k).
    """
    if not 1 <= k <= len(table):
        raise ValueError(f"k={k}: expected 1 to {len(table)}, the words of the table")
    return (_unit(rows) @ _unit(table.detach()).T).topk(k, -1).indices


def _unit(x: Tensor) -> Tensor:
    return x / x.norm(dim=-1, keepdim=True).clamp(min=torch.finfo(x.dtype).tiny)

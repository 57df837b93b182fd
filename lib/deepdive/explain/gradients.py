"""Saliency from gradients: how much does each input row count for each output number?

Both methods read and set the rows that pass through one hook point (`encoder.embedded`), so they
serve any model that has one: a Transformer, a recurrent encoder-decoder.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.inspect import record, replace

Output = Callable[[], Tensor]


def gradient_x_input(model: nn.Module, point: str, output: Output) -> Tensor:
    """Return saliency[t, s] = sum over d of  d output[t] / d x[s, d] * x[s, d].

    model, point   the rows x (1, S, d) that pass through this hook point are explained
    output         a function without arguments that runs the model on one input and returns T
                   numbers to explain (T,), such as the log-probability of each target token

    Returns (T, S). For a model that is linear in x without a constant, a row sums to output[t].
    Raises ValueError when `output` does not give (T,), or the point passes more than one input.
    Source: Shrikumar et al. 2017, section 3 ("gradient x input"); Ding et al. 2019 for translation.
    """
    with torch.enable_grad(), record(model, point) as seen:
        numbers = _checked(output())
    rows = _only(seen)
    gradients = [torch.autograd.grad(number, rows, retain_graph=True)[0] for number in numbers]
    return torch.stack([(gradient * rows).sum(-1)[0] for gradient in gradients]).detach()


def integrated_gradients(
    model: nn.Module,
    point: str,
    output: Output,
    baseline: Tensor | None = None,
    steps: int = 32,
) -> tuple[Tensor, Tensor]:
    """Return the path integral of the gradient from a baseline b to the input x, and its gap.

        saliency[t, s] = sum_d (x - b)[s, d] * mean_a of  d output[t] / d x[s, d] at b + a (x - b)

    with a at the midpoints of `steps` equal intervals of [0, 1]. `baseline` (d,) or (S, d) defaults
    to zero. The rest as in `gradient_x_input`.

    Returns saliency (T, S) and gap (T,): output(x) - output(b) - the row's sum, zero but for the
    error of the integral (completeness); that falls like 1 / steps^2 where the model is smooth.
    Source: Sundararajan, Taly and Yan 2017, section 3 and proposition 1.
    """
    if steps < 1:
        raise ValueError(f"steps must be 1 or more; got {steps}: 32 is usually enough")
    with torch.no_grad(), record(model, point) as seen:
        last = _checked(output())
    x = _only(seen)
    start = torch.zeros_like(x) if baseline is None else baseline.to(x).expand_as(x)

    def at(fraction: float) -> tuple[Tensor, Tensor]:
        rows = (start + fraction * (x - start)).detach().requires_grad_()
        with torch.enable_grad(), replace(model, point, lambda _: rows):
            return rows, _checked(output())

    total = torch.zeros(len(last), *x.shape[1:], dtype=x.dtype, device=x.device)
    for step in range(steps):
        rows, numbers = at((step + 0.5) / steps)
        for t, number in enumerate(numbers):
            total[t] += torch.autograd.grad(number, rows, retain_graph=True)[0][0]
    saliency = (total / steps * (x - start)[0]).sum(-1)
    first = at(0.0)[1].detach()
    return saliency, last - first - saliency.sum(-1)


def _checked(numbers: Tensor) -> Tensor:
    if numbers.ndim != 1:
        raise ValueError(
            f"output must return the numbers to explain as (T,); got {tuple(numbers.shape)}: "
            "select one input and one number a position"
        )
    return numbers


def _only(seen: dict[str, list[Tensor]]) -> Tensor:
    calls = [rows for values in seen.values() for rows in values]
    if len(calls) != 1 or calls[0].ndim != 3 or calls[0].shape[0] != 1:
        shapes = ", ".join(str(tuple(rows.shape)) for rows in calls)
        raise ValueError(
            f"the hook point must pass one tensor (1, S, d) in one call; got {shapes}: explain one "
            "input at a time, and name one point"
        )
    return calls[0]

"""One forward pass, traced from the embeddings at a hook point to the outputs to explain.

Shared by all gradient-based methods: the embeddings x (1, S, d), or N copies of them, are a leaf
of the graph (`traced`), and each output is differentiated in its own copy (`gradients_of`).
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from deepdive.core.hooks import record, replace

Output = Callable[[], Tensor]


def traced(model: nn.Module, point: str, output: Output) -> tuple[Tensor, Tensor]:
    """Return one run's embeddings (N, S, d), a leaf of the graph, and its outputs (N, T)."""

    def leaf(x: Tensor) -> Tensor:
        return x.detach().requires_grad_()

    with torch.enable_grad(), replace(model, point, leaf), record(model, point) as seen:
        outputs = output()
    x = _only(seen)
    return x, checked(outputs, len(x))


def untraced(model: nn.Module, point: str, output: Output) -> tuple[Tensor, Tensor, int]:
    """Return the embeddings (1, S, d) of one run, its outputs (T,), and the number of copies."""
    with torch.no_grad(), record(model, point) as seen:
        outputs = output()
    x = _only(seen)
    return x[:1], checked(outputs, len(x))[0], len(x)


def gradients_of(numbers: Tensor, rows: Tensor) -> Tensor:
    """Return the gradient of each output (N, T) in its own copy's x (N, S, d), (N, T, S, d)."""
    # Copies are independent, so the gradient of the sum over copies is each copy's own gradient.
    sums = numbers.sum(0)
    found = [torch.autograd.grad(number, rows, retain_graph=True)[0] for number in sums[:-1]]
    return torch.stack([*found, torch.autograd.grad(sums[-1], rows)[0]], 1)


def mean_gradient(
    model: nn.Module, point: str, output: Output, parts: Iterable[Tensor], copies: int
) -> Tensor:
    """Return the mean gradient (T, S, d) over all inputs in `parts`, each of at most `copies`."""
    total, count = torch.zeros(()), 0
    for part in parts:
        rows = torch.cat([part, part[:1].expand(copies - len(part), -1, -1)]).requires_grad_()
        with torch.enable_grad(), replace(model, point, rows):
            numbers = checked(output(), copies)
        total = total.to(rows) + gradients_of(numbers, rows)[: len(part)].sum(0)
        count += len(part)
    return total / count


def checked(numbers: Tensor, copies: int) -> Tensor:
    """Return the outputs as (N, T). Raises ValueError for another shape."""
    if numbers.ndim == 1 and copies == 1:
        return numbers[None]
    if numbers.ndim != 2 or len(numbers) != copies:
        expected = "(T,)" if copies == 1 else f"({copies}, T) for {copies} copies of the input"
        raise ValueError(
            f"output: got shape {tuple(numbers.shape)}, expected {expected}; "
            "select one input and one number per position"
        )
    return numbers


def from_baseline(baseline: Tensor | None, rows: Tensor) -> Tensor:
    """Return the baseline, expanded to the embeddings (1, S, d); it defaults to zero. Raises
    ValueError for a shape other than (d,) or (S, d).
    """
    if baseline is None:
        return torch.zeros_like(rows)
    allowed = rows.shape[-1:], rows.shape[-2:], rows.shape
    if baseline.shape not in allowed:
        raise ValueError(
            f"baseline has shape {tuple(baseline.shape)}; expected {tuple(allowed[0])} or "
            f"{tuple(allowed[1])}, like the embeddings at the hook point: give one embedding, such "
            "as that of [MASK], or one per position"
        )
    return baseline.to(rows).expand_as(rows)


def _only(seen: dict[str, list[Tensor]]) -> Tensor:
    """The recorded embeddings (N, S, d), N copies of one input."""
    calls = [x for values in seen.values() for x in values]
    first = calls[0] if len(calls) == 1 and calls[0].ndim == 3 else None
    if first is None or not torch.equal(first, first[:1].expand_as(first)):
        shapes = ", ".join(str(tuple(x.shape)) for x in calls)
        raise ValueError(
            f"the hook point must pass one tensor (1, S, d), or copies of it, in one call; got "
            f"{shapes}: explain one input at a time, and name one point"
        )
    return first

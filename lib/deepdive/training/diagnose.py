"""Diagnosis of divergence: where the first non-finite value (NaN or infinity) arises."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn


class TrainingDiverged(RuntimeError):
    """Training hit a value that is not finite; the message says where, and what to try."""


def tensors_in(value: Any, name: str = "batch") -> Iterator[tuple[str, Tensor]]:
    """Yield (name, tensor) for every tensor in nested tuples, lists, mappings and dataclasses."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from tensors_in(part, f"{name}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", None)  # of a namedtuple
        for i, part in enumerate(value):
            yield from tensors_in(part, f"{name}.{names[i]}" if names else f"{name}[{i}]")
    elif is_dataclass(value):
        for part in fields(value):
            yield from tensors_in(getattr(value, part.name), f"{name}.{part.name}")


def _bad(x: Tensor) -> Tensor:
    """True where x is NaN or +inf; -inf is allowed, because masks set scores to it."""
    return x.isnan() | (x == torch.inf)


def _describe(name: str, x: Tensor, bad: Tensor) -> str:
    first = bad.nonzero()[0].tolist()
    value = float(x[tuple(first)])
    return (
        f"{name}, {x.dtype} {tuple(x.shape)}: {int(bad.sum())} of {x.numel()} values are not "
        f"finite, the first ({value}) at {first}"
    )


def _first(named: Iterator[tuple[str, Tensor]], kind: str) -> str | None:
    for name, x in named:
        if (x.is_floating_point() or x.is_complex()) and (bad := _bad(x.detach())).any():
            return _describe(f"{kind} {name}", x.detach(), bad)
    return None


def _forward(model: nn.Module, compute: Callable[[], Tensor]) -> tuple[str | None, Tensor]:
    """Run forward; describe the first module (in order of completion) with a non-finite output."""
    found: list[str] = []

    def hook(name: str) -> Callable[..., None]:
        def look(module: nn.Module, _: Any, output: Any) -> None:
            if not found and (line := _first(tensors_in(output, name), "the output of")):
                found.append(f"{line} ({type(module).__name__})")

        return look

    with ExitStack() as stack:
        for name, module in model.named_modules():
            handle = module.register_forward_hook(hook(name or "the model"))
            stack.callback(handle.remove)
        loss = compute()
    return (found[0] if found else None), loss


def _backward(model: nn.Module, loss: Tensor) -> str | None:
    """Run backward; describe the first non-finite gradient, in the order of computation."""
    found: list[str] = []

    def hook(name: str) -> Callable[[Tensor], None]:
        def look(p: Tensor) -> None:
            if not found and p.grad is not None and not p.grad.isfinite().all():
                found.append(_describe(f"the gradient of {name}", p.grad, ~p.grad.isfinite()))

        return look

    model.zero_grad(set_to_none=True)
    with ExitStack() as stack:
        for name, p in model.named_parameters():
            if p.requires_grad:
                handle = p.register_post_accumulate_grad_hook(hook(name))
                stack.callback(handle.remove)
        loss.backward()
    return found[0] if found else None


def diagnose(model: nn.Module, batch: Any, compute: Callable[[], Tensor]) -> tuple[str, str] | None:
    """Return where the first value that is not finite arises, and what to try against it.

    Checks the inputs, the parameters, the output of every module and hook point, the loss, and
    the gradients, in this order; `compute()` returns the loss of `batch`. None: all are finite.
    """
    line = _first(tensors_in(batch), "the input")
    if line:
        return line, "clean the data: drop such examples, or fill and mask missing values"
    line = _first(model.named_parameters(), "the parameter")
    if line:
        return line, "restart from weights that are finite"
    line, loss = _forward(model, compute)
    if line:
        return line, (
            "a lower learning rate or a longer warm-up; scores or activations overflow, or a query "
            "has no key to attend to"
        )
    if not loss.isfinite():
        return f"the loss: {loss.item()}, though every module's output is finite", (
            "the loss function itself: a logarithm or a division by zero"
        )
    line = _backward(model, loss)
    if line:
        return line, (
            "the backward pass of that layer (a square root or norm at zero, a division); a "
            "lower learning rate; float32 instead of a half type"
        )
    return None

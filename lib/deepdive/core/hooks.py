"""Record and replace activations: hook points, `record`, `replace`, `ablate`, `collect_losses`,
`forward_once`.

A hook point is an identity module with a name through which a tensor passes. To read the tensor,
register a plain PyTorch hook on the point; to replace it, let the hook return another tensor. No
module stores its attention weights or returns them with its output, and a recorded tensor is the
one that was used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn


class HookPoint(nn.Module):
    """The identity, x -> x, with a name in the module tree.

    `listening` is true while any hook (forward, pre-forward, backward) is registered; a mechanism
    then computes its weights explicitly instead of calling the fused kernel. A point without hooks
    avoids the cost of a module's call.
    """

    def __call__(self, x: Tensor) -> Tensor:
        return super().__call__(x) if self.listening else x

    def forward(self, x: Tensor) -> Tensor:
        return x

    @property
    def listening(self) -> bool:
        return bool(
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
        )


class LossPoint(HookPoint):
    """A hook point for an auxiliary loss (load balance, ponder cost): a scalar passes through it
    at each call.
    """


class Losses(list[Tensor]):
    """The auxiliary losses of the calls made inside `collect_losses`, in call order."""

    def total(self) -> Tensor | float:
        """Return the sum of the collected losses, 0.0 when no module has one."""
        return torch.stack(list(self)).sum() if self else 0.0


def hook_points(
    model: nn.Module, *patterns: str, kind: type[HookPoint] = HookPoint
) -> dict[str, HookPoint]:
    """Return the hook points of `model` whose names match one of `patterns` (shell wildcards).

    Raises ValueError when a pattern matches none; the message lists the available names.
    """
    points = {name: m for name, m in model.named_modules() if isinstance(m, kind)}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in points):
            known = ", ".join(points) or "none: this model has no hook points"
            raise ValueError(
                f"pattern {pattern!r} matches no hook point of {type(model).__name__}; it has: "
                f"{known}"
            )
    return {n: p for n, p in points.items() if any(fnmatchcase(n, pattern) for pattern in patterns)}


@contextmanager
def _hooked(
    points: dict[str, HookPoint], make: Callable[[str], Callable[..., Any]]
) -> Iterator[None]:
    """Register one forward hook on each point; compiled models run eagerly meanwhile, so that the
    hooks run.
    """
    with ExitStack() as stack:
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        for name, point in points.items():
            stack.callback(point.register_forward_hook(make(name)).remove)
        yield


@contextmanager
def record(model: nn.Module, *patterns: str) -> Iterator[dict[str, list[Tensor]]]:
    """Record the activations at the hook points that match `patterns`.

    Yields a dictionary: name -> the tensors of each call, in call order (a shared block or a
    decoding step calls one point many times). The tensors are still in the autograd graph:
    call `retain_grad()` on them for gradients, `detach()` to keep them.

    Raises ValueError when a pattern matches no point, or when a matched point was never called.

    >>> with record(model, "*.weights") as seen:  # doctest: +SKIP
    ...     model(tokens)
    >>> seen["encoder.blocks.0.attn.mechanism.weights"][0].shape  # doctest: +SKIP
    torch.Size([1, 8, 12, 12])
    """
    if not patterns:
        raise ValueError(
            'record needs at least one pattern, for example record(model, "*.weights")'
        )
    points = hook_points(model, *patterns)
    seen: dict[str, list[Tensor]] = {name: [] for name in points}

    def make(name: str) -> Callable[..., None]:
        def keep(_module: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
            seen[name].append(output)

        return keep

    with _hooked(points, make):
        yield seen
    silent = [name for name, values in seen.items() if not values]
    if silent:
        raise ValueError(
            f"no tensor passed through {', '.join(silent)} inside record(...): call the model "
            f"inside the context, "
            "and omit hook points of modules that this call does not run"
        )


@contextmanager
def replace(
    model: nn.Module, pattern: str, value: Tensor | Callable[[Tensor], Tensor]
) -> Iterator[None]:
    """Replace the output of the points that match `pattern` by `value` (a tensor, or a function of
    the original).

    Raises ValueError when the pattern matches no point, or when the replacement has another shape.
    """

    def make(name: str) -> Callable[..., Tensor]:
        def swap(_module: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
            new = value(output) if callable(value) else value
            if new.shape != output.shape:
                raise ValueError(
                    f"the replacement at {name} has shape {tuple(new.shape)}, expected "
                    f"{tuple(output.shape)}"
                )
            return new

        return swap

    with _hooked(hook_points(model, pattern), make):
        yield


@contextmanager
def ablate(model: nn.Module, pattern: str, heads: Sequence[int] | None = None) -> Iterator[None]:
    """Zero-ablate the activations at the matching points: all of them, or those of `heads` (axis
    1).

    On `*.heads` this removes a head's contribution to the residual stream.
    Raises ValueError when the pattern matches no point, IndexError when a head does not exist.
    """

    def zero(x: Tensor) -> Tensor:
        if heads is None:
            return torch.zeros_like(x)
        if x.ndim != 4 or any(not -x.shape[1] <= h < x.shape[1] for h in heads):
            raise IndexError(
                f"heads={list(heads)} do not exist in a tensor of shape {tuple(x.shape)}, expected "
                f"(B, H, T, ...)"
            )
        keep_mask = torch.ones(x.shape[1], dtype=x.dtype, device=x.device)
        keep_mask[list(heads)] = 0
        return x * keep_mask.view(1, -1, 1, 1)

    with replace(model, pattern, zero):
        yield


@contextmanager
def collect_losses(model: nn.Module) -> Iterator[Losses]:
    """Collect the auxiliary losses of every call made inside: `losses.total()` is their sum.

    Yields an empty list for a model that has none. Nothing is stored on the modules.
    """
    losses = Losses()

    def make(_name: str) -> Callable[..., None]:
        def keep(_module: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
            losses.append(output)

        return keep

    points: dict[str, HookPoint] = {
        name: m for name, m in model.named_modules() if isinstance(m, LossPoint)
    }
    if not points:
        yield losses
        return
    with _hooked(points, make):
        yield losses


def forward_once(model: nn.Module, inputs: Any, **more: Any) -> Any:
    """Run one forward pass in evaluation mode, without gradients; restore the training mode.

    `inputs` is one tensor, a tuple or list of arguments, or a mapping of keywords (a tokenizer's
    output); `more` are further keywords.
    """
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.no_grad():
            if isinstance(inputs, Mapping):
                return model(**inputs, **more)
            return (
                model(*inputs, **more)
                if isinstance(inputs, tuple | list)
                else model(inputs, **more)
            )
    finally:
        for module in training:
            module.training = True

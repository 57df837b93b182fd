"""Shared parts of decoding: evaluation mode without gradients, and the first tokens."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from deepdive._fast.optimize import FastLinear
from deepdive.core.masks import describe

Prompt = Tensor | Sequence[Sequence[int]]
LONG = 32  # tokens, from which a change of the weights' memory layout pays off,
SMALL = 2**24  # up to this many weights: a good part of them fits into the CPU cache


@contextmanager
def generating(model: nn.Module) -> Iterator[Callable[[int], None]]:
    """Run `model` in evaluation mode, without gradients, and with fast attribute access.

    `nn.Module` finds a submodule or a parameter only after the ordinary look-up has failed. With
    one token per call that is a fifth of the time, so inside this context they are also ordinary
    attributes. Yields a function to call with the number of tokens so far: see `by_columns`.
    """

    def step(length: int) -> None:
        if length == LONG:
            by_columns(model)

    training = [module for module in model.modules() if module.training]
    parts = [
        (module.__dict__, name, part)
        for module in model.modules()
        for name, part in (*module._modules.items(), *module._parameters.items())
        if name not in module.__dict__
    ]
    try:
        for attributes, name, part in parts:
            attributes[name] = part
        model.eval()
        with torch.inference_mode():
            yield step
    finally:
        for attributes, name, _ in parts:
            attributes.pop(name, None)
        for module in training:
            module.training = True


def by_columns(model: nn.Module) -> None:
    """Give the linear layers a column-major copy of their weights.

    On a CPU, the product of a small batch and a weight matrix is memory-bound, and a quarter faster
    in this layout; the copy costs as much time as about 30 tokens save. With 135 million weights
    (`benchmarks/bench_text.py`) it saves nothing, and doubles the memory for weights. Used only
    inside `generating`, which removes the copy.
    """
    layers = [
        module
        for module in model.modules()
        if isinstance(module, nn.Linear)
        and type(module) in (nn.Linear, FastLinear)
        and module.weight.device.type == "cpu"
    ]
    if sum(layer.weight.numel() for layer in layers) <= SMALL:
        for layer in layers:
            layer.__dict__["weight"] = layer.weight.t().contiguous().t()


def first_tokens(
    model: nn.Module, inputs: tuple[Any, ...], prompt: Prompt | None, bos: int
) -> Tensor:
    """Return the first tokens, the prompt or `bos`, int64 (B, P), on the model's device.

    Raises TypeError or ValueError if model, inputs and prompt do not match.
    """
    for method in ("begin", "step"):
        if not callable(getattr(model, method, None)):
            raise TypeError(
                f"model has no {method}: {type(model).__name__} cannot generate. A model that can "
                "has begin(*inputs) -> state and step(tokens, state) -> logits"
            )
    B = inputs[0].shape[0] if inputs and isinstance(inputs[0], Tensor) else None
    if prompt is None:
        prompt = [[bos]] * (1 if B is None else B)
    if not isinstance(prompt, Tensor):
        if any(isinstance(row, int) for row in prompt):
            raise TypeError(
                "prompt must be one list of tokens per sequence, [[bos, 5], ...]; got one list of "
                "tokens: for one sequence give prompt=[prompt]"
            )
        lengths = [len(row) for row in prompt]
        if len(set(lengths)) > 1:
            raise ValueError(
                f"prompt must have rows of equal length; got {lengths}: generate for each length "
                "separately"
            )
        prompt = torch.tensor(prompt)
    if prompt.numel() == 0:
        raise ValueError(
            f"prompt is empty: {tuple(prompt.shape)}; give at least one token a row, such as [BOS]"
        )
    if prompt.ndim != 2 or prompt.dtype not in (torch.int64, torch.int32):
        fix = ": for one sequence give prompt[None]" if prompt.ndim == 1 else ""
        raise TypeError(f"prompt must be integers (B, P); got {describe(prompt)}{fix}")
    if B is not None and len(prompt) != B:
        raise ValueError(f"prompt has {len(prompt)} rows, but the inputs are a batch of {B}")
    device = next((p.device for p in model.parameters()), prompt.device)
    return prompt.to(device, torch.int64)


def check_logits(logits: Tensor) -> None:
    """Raise ValueError if any logit is NaN."""
    if logits.isnan().any():
        raise ValueError(
            "the model's first logits are NaN, so its weights or inputs are: has training diverged?"
        )


def lengths(max_length: int) -> range:
    """Return range(max_length). Raises ValueError for a max_length below 1."""
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1; got {max_length}")
    return range(max_length)

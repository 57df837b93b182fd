"""Custom backward rules: inside the context, torch functions have other gradients.

    with Rules({"softmax": held}):                  # attention weights count as constants
        gradient_x_input(model, point, output)

A rule overrides a torch function wherever it is called: in a layer, an operator, a deepdive or a
transformers model. It returns the function's unchanged value with another gradient (`passed`).
Functions of the explained input without a rule must be in `PLAIN`, which are linear or select;
any other raises an error, so that no part of a model is explained by accident.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

Rule = Callable[..., Any]

# Names without underscores: `__radd__`, `add_` and `add` are listed as radd and add.
NAMES = """add radd iadd sub rsub isub neg sum mean cumsum get getitem to type float double
contiguous clone detach requires_grad view view_as reshape flatten unflatten transpose permute t
squeeze unsqueeze expand expand_as repeat repeat_interleave chunk split cat stack unbind select
narrow index_select gather roll flip tril triu pad masked_fill where dropout max amax grad
max_pool1d max_pool2d"""
PLAIN = frozenset(NAMES.split())


class Rules(TorchFunctionMode):
    """Context manager that applies `rules`, a mapping from torch function names to rules.

    A rule is called as rule(function, *arguments) if an argument depends on the explained input;
    `function` is torch's. Raises ValueError for a function that has no rule and is not `PLAIN`.
    """

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        super().__init__()
        self.rules = rules

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = kwargs or {}, func.__name__.strip("_")
        if name in self.rules and depends([*args, *kwargs.values()]):
            return self.rules[name](func, *args, **kwargs)
        found = func(*args, **kwargs)
        if name not in PLAIN and depends([found]):
            about = ": explain a logit, which precedes it" if "log" in name else ""
            known = ", ".join(sorted(self.rules))
            raise ValueError(f"no rule for torch's {name}{about}; there are rules for {known}")
        return found


def depends(values: Iterable[Any]) -> bool:
    """Whether any of these values, or of nested lists, is a tensor that requires a gradient."""
    return any(
        value.requires_grad
        if isinstance(value, Tensor)
        else isinstance(value, tuple | list) and depends(value)
        for value in values
    )


def passed(value: Tensor, way: Tensor) -> Tensor:
    """Return `value`, with the gradient of `way`."""
    return value.detach() + (way - way.detach())


def shared(value: Tensor, parts: Tensor, epsilon: float = 0.0) -> Tensor:
    """Return `value`; its relevance is distributed to the inputs of `parts` (linear, without a
    bias) in proportion to their contributions:

        gradient = gradient of parts * value / (parts + epsilon * sign(parts))

    Where parts is 0, no relevance passes.
    """
    with torch.no_grad():
        steady = parts + torch.copysign(parts.new_tensor(epsilon), parts) if epsilon else parts
        ratio = (value / steady).masked_fill_(parts == 0, 0.0)
    return passed(value, parts * ratio)


def in_sight(output: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Wrap `output` to raise ValueError if a custom autograd function is in the graph of its
    result, since no rule can change its backward pass.
    """

    def checked() -> Tensor:
        numbers = output()
        nodes, met = [numbers.grad_fn], set()
        while nodes:
            node = nodes.pop()
            if isinstance(node, torch.autograd.function.BackwardCFunction):
                raise ValueError(
                    f"{type(node).__name__} has a custom backward pass, which rules cannot change; "
                    'run the explicit form, as inside record(model, "*.weights")'
                )
            if node is not None and node not in met:
                met.add(node)
                nodes += [before for before, _ in node.next_functions]
        return numbers

    return checked


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Freeze the parameters: the graph then has only functions of the explained input."""
    learning = [p for p in model.parameters() if p.requires_grad]
    for p in learning:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in learning:
            p.requires_grad_(True)

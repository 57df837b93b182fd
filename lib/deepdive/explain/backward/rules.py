"""Other rules for the backward pass: what gradients are computed with, while a context is open.

    with Rules({"softmax": held}):                  # weights of attention count as constants
        gradient_x_input(model, point, output)

A rule stands for a torch function, whoever calls it: a layer, an operator, a model of ours or of
transformers. It computes the function's value as it is, and lets the gradient pass as it likes
(`passed`). What depends on the explained rows and has no rule must be one of `PLAIN`, which are
linear or choose; all else is refused by name, so that no part of a model is explained by accident.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

Rule = Callable[..., Any]

# By their names without underscores: `__radd__`, `add_` and `add` are written radd and add.
NAMES = """add radd iadd sub rsub isub neg sum mean cumsum get getitem to type float double
contiguous clone detach requires_grad view view_as reshape flatten unflatten transpose permute t
squeeze unsqueeze expand expand_as repeat repeat_interleave chunk split cat stack unbind select
narrow index_select gather roll flip tril triu pad masked_fill where dropout max amax grad
max_pool1d max_pool2d"""
PLAIN = frozenset(NAMES.split())


class Rules(TorchFunctionMode):
    """The context in which `rules`, name of a torch function -> rule, are in force.

    A rule is called as rule(function, *arguments) where an argument depends on the explained rows:
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
            about = ": explain a logit, which stands before it" if "log" in name else ""
            known = ", ".join(sorted(self.rules))
            raise ValueError(f"no rule for torch's {name}{about}; there are rules for {known}")
        return found


def depends(values: Iterable[Any]) -> bool:
    """Whether one of these, or of the lists among them, is a tensor in the graph."""
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
    """Return `value`; what counts for it counts for the inputs of `parts` (linear, without a
    constant) by their shares in it:

        gradient = gradient of parts * value / (parts + epsilon * sign(parts))

    Where parts is 0, nothing passes.
    """
    with torch.no_grad():
        steady = parts + torch.copysign(parts.new_tensor(epsilon), parts) if epsilon else parts
        ratio = (value / steady).masked_fill_(parts == 0, 0.0)
    return passed(value, parts * ratio)


def in_sight(output: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Return `output`, which now raises ValueError where a backward pass written by hand leads to
    its numbers: no rule can change that.
    """

    def checked() -> Tensor:
        numbers = output()
        nodes, met = [numbers.grad_fn], set()
        while nodes:
            node = nodes.pop()
            if isinstance(node, torch.autograd.function.BackwardCFunction):
                raise ValueError(
                    f"{type(node).__name__} has a backward pass of its own, past all rules: run "
                    'the explicit form, as inside record(model, "*.weights")'
                )
            if node is not None and node not in met:
                met.add(node)
                nodes += [before for before, _ in node.next_functions]
        return numbers

    return checked


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Leave the weights out of the graph: what is in it then depends on the explained rows."""
    learning = [p for p in model.parameters() if p.requires_grad]
    for p in learning:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in learning:
            p.requires_grad_(True)

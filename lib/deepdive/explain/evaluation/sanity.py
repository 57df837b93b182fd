"""Sanity checks: does an explanation change when the model forgets what it learned?

    parts = ["out", "pooler", *(f"encoder.stack.blocks.{i}" for i in (1, 0)), "encoder.embeddings"]
    found = cascade(model, parts, lambda m: gradient_norm(m, point, lambda: m(tokens)[0]))
    [step.correlation for step in found]        # 1.0 first, then near 0 if the method reads weights

What differs:
- parts of the model are randomised one after the other, from the top (`cascade`), and each time the
  explanation is compared with the first by rank
- a method whose picture stays is no explanation of this model: it shows the input
Source: Adebayo et al. 2018, section 3.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepdive.explain.probes import spearman

Explain = Callable[[nn.Module], Tensor]


@dataclass(frozen=True)
class Step:
    """The explanation of the model after `part` and all before it were randomised ("" = none yet),
    and its rank correlation with that of the whole model.
    """

    part: str
    explanation: Tensor
    correlation: float


def cascade(model: nn.Module, parts: Sequence[str], explain: Explain, seed: int = 0) -> list[Step]:
    """Return a step for the model as it is, and one for each of `parts`, randomised in turn.

    parts      names of submodules, the last of the model first
    explain    a model -> its explanation of one input, (S,) or (T, S); it is given copies

    To randomise one part alone, give it alone. Raises AttributeError for a part that is not there.
    Source: Adebayo et al. 2018, section 3.1 (cascading; there layers are drawn as at the start).
    """
    model = copy.deepcopy(model)
    first = explain(model)
    steps = [Step("", first, rank_correlation(first, first))]
    generator = torch.Generator().manual_seed(seed)
    for part in parts:
        shuffle(model.get_submodule(part), generator)
        now = explain(model)
        steps.append(Step(part, now, rank_correlation(first, now)))
    return steps


def shuffle(module: nn.Module, generator: torch.Generator) -> None:
    """Shuffle the numbers of each weight in place: their distribution stays, what they say goes."""
    with torch.no_grad():
        for p in module.parameters():
            order = torch.randperm(p.numel(), generator=generator)
            p.copy_(p.flatten()[order.to(p.device)].view_as(p))


def rank_correlation(one: Tensor, other: Tensor) -> float:
    """Return Spearman's correlation of two explanations, (S,) or the mean over rows of (T, S).

    It counts the sign of relevance; give absolute values to leave it out. Raises ValueError for
    explanations of different shapes.
    """
    if one.shape != other.shape or one.ndim not in (1, 2):
        raise ValueError(
            f"explanations are {tuple(one.shape)} and {tuple(other.shape)}, expected two of (S,) "
            "or (T, S)"
        )
    pairs = list(zip(torch.atleast_2d(one), torch.atleast_2d(other), strict=True))
    return sum(spearman(a, b) for a, b in pairs) / len(pairs)

"""Sanity checks: does an explanation change when the model's weights are randomized?

    parts = ["out", "pooler", *(f"encoder.stack.blocks.{i}" for i in (1, 0)), "encoder.embeddings"]
    found = cascade(model, parts, lambda m: gradient_norm(m, point, lambda: m(tokens)[0]))
    [step.correlation for step in found]        # 1.0 first, then near 0 if it depends on weights

What differs:
- submodules are randomized one after the other, from the output down (`cascade`); each explanation
  is compared with the trained model's by rank correlation
- if a method's explanation stays the same, it shows the input, not this model
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
    """The explanation after `part` and all parts before it were randomized ("" = none yet), and its
    rank correlation with the trained model's explanation.
    """

    part: str
    explanation: Tensor
    correlation: float


def cascade(model: nn.Module, parts: Sequence[str], explain: Explain, seed: int = 0) -> list[Step]:
    """Return a step for the trained model, and one for each of `parts`, randomized in turn.

    parts      names of submodules, from the output layer down
    explain    maps a model (a copy) to its explanation of one input, (S,) or (T, S)

    To randomize one part alone, pass only that part. Raises AttributeError for an unknown part.
    Source: Adebayo et al. 2018, section 3.1 (cascading; there layers are reinitialized).
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
    """Permute the entries of each parameter in place, which preserves their distribution."""
    with torch.no_grad():
        for p in module.parameters():
            order = torch.randperm(p.numel(), generator=generator)
            p.copy_(p.flatten()[order.to(p.device)].view_as(p))


def rank_correlation(one: Tensor, other: Tensor) -> float:
    """Return Spearman's correlation of two explanations, (S,) or the mean over rows of (T, S).

    It uses signed relevance; pass absolute values to ignore the sign. Raises ValueError for
    explanations of different shapes.
    """
    if one.shape != other.shape or one.ndim not in (1, 2):
        raise ValueError(
            f"explanations are {tuple(one.shape)} and {tuple(other.shape)}, expected two of (S,) "
            "or (T, S)"
        )
    pairs = list(zip(torch.atleast_2d(one), torch.atleast_2d(other), strict=True))
    return sum(spearman(a, b) for a, b in pairs) / len(pairs)

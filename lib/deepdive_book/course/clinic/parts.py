"""The parts that can be exchanged, healthy and broken."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

EVERY = 10  # steps from loss to loss
DIAGNOSES = {
    "scale": "the scores are not divided by the root of d",
    "mask": "the causal mask is inverted",
    "epsilon": "the norm adds another epsilon than the weights were trained with",
    "position": "the positions begin at 1 and not at 0",
    "shift": "the model reads at each place the token that it must give there",
    "eval": "the model is judged in training mode, with dropout",
}
Part = Callable[..., Any]
Parts = Mapping[str, Part]


def scale(d: int) -> float:
    """Return the factor of the scores of queries and keys that are d wide."""
    return float(d**-0.5)


def allowed(T: int) -> Tensor:
    """Return bool (T, T): True where a query (down) may attend to a key (across)."""
    return torch.ones(T, T, dtype=torch.bool).tril()


def norm(x: Tensor, epsilon: float = 1e-5) -> Tensor:
    """Return x (.., d), each row with mean 0 and variance 1."""
    deviation = x - x.mean(-1, keepdim=True)
    return deviation / (deviation.square().mean(-1, keepdim=True) + epsilon).sqrt()


def sinusoidal_table(T: int, d: int, first: int = 0) -> Tensor:
    """Return the sinusoidal table (T, d) of the places first, first + 1, ..."""
    place = torch.arange(first, first + T)[:, None]
    angles = place / 10_000 ** (torch.arange(0, d, 2) / d)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


def pairs(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Return what the model reads and what it must give there, for texts (B, T)."""
    return tokens[:, :-1], tokens[:, 1:]


def course(mode: Part, step: Part, judge: Part, steps: int) -> list[float]:
    """Train `steps` times; return the losses that `judge` gave before each tenth step."""
    losses = []
    for i in range(steps):
        if i % EVERY == 0:
            mode("eval")
            losses.append(judge())
        mode("train")
        step()
    return losses


def _never_eval(mode: Part, step: Part, judge: Part, steps: int) -> list[float]:
    return course(lambda _: mode("train"), step, judge, steps)


HEALTHY: Parts = {
    "scale": scale, "mask": allowed, "epsilon": norm, "position": sinusoidal_table, "shift": pairs,
    "eval": course,
}  # fmt: skip
BROKEN: Parts = {
    "scale": lambda d: 1.0,
    "mask": lambda T: ~allowed(T),
    "epsilon": lambda x: norm(x, 1e-3),
    "position": lambda T, d: sinusoidal_table(T, d, first=1),
    "shift": lambda tokens: (tokens, tokens),
    "eval": _never_eval,
}

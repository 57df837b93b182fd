"""Hopfield network: a content-addressable (associative) memory; and the modern Hopfield network,
whose update is softmax attention. Hopfield 1982; Ramsauer et al. 2021.

Not as in Hopfield 1982: states are -1 and 1, there 0 and 1. The modern form leaves out the two
constants of the paper's energy, which do not change its minima.

Long because the binary and the continuous memory each have an energy and an update that lowers it.

System: hopfield
Parent: hebb
What differs:
- units are fully connected, with symmetric weights and no self-connections (`hebbian`)
- asynchronous updates, one unit at a time, until none changes (`Hopfield.recall`)
- each change of a unit lowers an energy, so the recall converges (`Hopfield.energy`)
- modern: continuous states, softmax instead of sign, synchronous updates (`ModernHopfield`)
- modern: an update is single-head attention without projections (`as_attention`)
Source: Hopfield 1982, equations 1, 2 and 7; Ramsauer et al. 2021, section 2, equations 2 and 3
Book: 1.1
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepdive.core import MultiHeadAttention
from deepdive.core.checks import width
from deepdive.core.hooks import HookPoint


@dataclass(frozen=True)
class Hopfield:
    """Hopfield network of N units, -1 or 1, with symmetric `weights` (N, N), 0 on the diagonal.

        field_i = sum_j weights_ij state_j
        energy  = -1/2 sum_ij weights_ij state_i state_j
        state_i = sign(field_i), unchanged where the field is 0

    The last line changes the energy by -(new_i - old_i) field_i, which is never above 0. A fixed
    point is a memory: a local minimum. States are float tensors (..., N). Raises ValueError for
    other weights: the energy could rise. Source: Hopfield 1982, equations 1 and 7.
    """

    weights: Tensor

    def __post_init__(self) -> None:
        W = self.weights
        if W.ndim != 2 or W.shape[0] != W.shape[1]:
            raise ValueError(f"weights: got {tuple(W.shape)}, expected (N, N)")
        if not torch.equal(W, W.T) or W.diagonal().any():
            raise ValueError(
                "weights: not symmetric or with a nonzero diagonal, so the energy could rise; use "
                "(W + W.T) / 2 and fill_diagonal_(0)"
            )

    def field(self, state: Tensor) -> Tensor:
        """Return each unit's local field, its weighted input from the others, (..., N)."""
        return state @ self.weights

    def energy(self, state: Tensor) -> Tensor:
        """Return -1/2 sum_ij weights_ij state_i state_j, (...)."""
        return -0.5 * (state * self.field(state)).sum(-1)

    def update(self, state: Tensor, i: int) -> Tensor:
        """Return the states (..., N) after an update of unit i."""
        field = state @ self.weights[i]
        moved = state.clone()
        moved[..., i] = torch.where(field == 0, state[..., i], field.sign())
        return moved

    def recall(self, state: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the fixed points (..., N) reached by updating units in random orders.

        It terminates: each change lowers the energy, and there are 2^N states.
        """
        while True:
            before = state
            for i in torch.randperm(state.shape[-1], generator=generator).tolist():
                state = self.update(state, i)
            if torch.equal(state, before):
                return state


def hebbian(patterns: Tensor) -> Hopfield:
    """Store patterns (S, N) of -1 and 1 by Hebb's rule: units that agree get a positive weight.

        weights_ij = sum_s patterns_si patterns_sj   for i != j, else 0

    Sums of ones are exact, so a field of 0 is exactly 0. Raises ValueError for other values.
    Source: Hopfield 1982, equation 2.
    """
    if patterns.ndim != 2 or not (patterns.abs() == 1).all():
        raise ValueError(
            f"patterns: got {tuple(patterns.shape)} with values from {patterns.min():g} to "
            f"{patterns.max():g}, expected (S, N) of -1 and 1; use 2 * bits - 1"
        )
    return Hopfield((patterns.T @ patterns).fill_diagonal_(0))


class ModernHopfield(nn.Module):
    """Modern Hopfield network of continuous patterns (S, d); an update is their softmax average.

        weights = softmax(beta * state @ patterns.T)                          # (..., S)
        state   = weights @ patterns                                          # (..., d)
        energy  = -logsumexp(beta * state @ patterns.T) / beta + state . state / 2

    One step is state - (gradient of the energy), and never raises it. It is attention: the state is
    the query, the patterns are keys and values, beta is the scale (`as_attention`). A large beta
    gives the pattern with the largest dot product, beta 0 the mean. Hook point: `weights` (..., S).
    Source: Ramsauer et al. 2021, section 2, equations 2 and 3 (less two constants).
    """

    def __init__(self, patterns: Tensor, beta: float = 1.0) -> None:
        super().__init__()
        if patterns.ndim != 2 or not len(patterns) or beta < 0:
            raise ValueError(
                f"patterns, beta: got {tuple(patterns.shape)} and {beta}; expected at least one "
                "pattern, (S, d), and a beta of 0 or more"
            )
        self.patterns, self.beta = nn.Parameter(patterns), beta
        self.weights = HookPoint()

    def forward(self, state: Tensor) -> Tensor:
        """Return the states (..., d) after one update; set unknown components to 0."""
        return self.weights(self.score(state).softmax(-1)) @ self.patterns

    def score(self, state: Tensor) -> Tensor:
        """Return beta * state @ patterns.T, (..., S)."""
        width("state", state, self.patterns.shape[1])
        return self.beta * state @ self.patterns.T

    def energy(self, state: Tensor) -> Tensor:
        """Return the energy of states (..., d), (...). Raises ValueError when beta is 0."""
        if self.beta == 0:
            raise ValueError("beta: got 0, expected above 0: the energy divides by it")
        pull = self.score(state).logsumexp(-1) / self.beta
        return 0.5 * state.square().sum(-1) - pull


def as_attention(network: ModernHopfield) -> MultiHeadAttention:
    """Return single-head attention with identity projections that equals `network`'s update.

    attention(state, memory=patterns), with state (B, T, d) and patterns (B, S, d).
    """
    d = network.patterns.shape[1]
    attention = MultiHeadAttention(d, 1, bias=False, scale=network.beta).to(network.patterns)
    with torch.no_grad():
        for weight in (attention.q.weight, *attention.kv.weight.chunk(2), attention.out.weight):
            weight.copy_(torch.eye(d))
    return attention

"""Sparse mixture of experts: many feed-forward layers, of which each token uses few."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.feed_forward import Activation, relu
from deepdive.core.hooks import HookPoint, LossPoint


@dataclass(frozen=True)
class Routing:
    """The routing of tokens (B, T) to experts.

    experts        (B, T, k) the experts of each token, its first choice first
    gates          (B, T, k) the factor of each expert's output
    probabilities  (B, T, E) the router's distribution over all experts
    """

    experts: Tensor
    gates: Tensor
    probabilities: Tensor


class TopKRouter(nn.Module):
    """Top-k gating: the `n_chosen` experts of the highest scores, weighted by their softmax.

        scores = x @ weight.T;  gates = softmax(the n_chosen highest)

    Source: Shazeer et al. 2017, equations 3 and 5, without noise.
    """

    def __init__(self, d_model: int, n_experts: int, n_chosen: int = 2) -> None:
        super().__init__()
        positive(d_model=d_model, n_experts=n_experts, n_chosen=n_chosen)
        if n_chosen > n_experts:
            raise ValueError(f"n_chosen={n_chosen} is above n_experts={n_experts}: choose fewer")
        self.n_experts, self.n_chosen = n_experts, n_chosen
        self.score = nn.Linear(d_model, n_experts, bias=False)

    def scores(self, x: Tensor) -> Tensor:
        """Return (B, T, E) for x (B, T, d_model), in float32 at least: rounding may change the
        selected expert.
        """
        dtype = torch.promote_types(x.dtype, torch.float32)
        return F.linear(x.to(dtype), self.score.weight.to(dtype))

    def forward(self, x: Tensor) -> Routing:
        """Return the routing of x (B, T, d_model)."""
        scores = self.scores(x)
        best, experts = scores.topk(self.n_chosen, dim=-1)
        return Routing(experts, best.softmax(-1), scores.softmax(-1))


class NoisyTopKRouter(TopKRouter):
    """Noisy top-k gating: a `TopKRouter` with noise on its scores in training.

        scores = x @ weight.T + normal * softplus(x @ noise.T)

    Source: Shazeer et al. 2017, equation 4.
    """

    def __init__(self, d_model: int, n_experts: int, n_chosen: int = 2) -> None:
        super().__init__(d_model, n_experts, n_chosen)
        self.noise = nn.Linear(d_model, n_experts, bias=False)
        nn.init.zeros_(self.score.weight)  # as in the paper: at first only noise decides
        nn.init.zeros_(self.noise.weight)

    def scores(self, x: Tensor) -> Tensor:
        scores = super().scores(x)
        if not self.training:
            return scores
        return scores + torch.randn_like(scores) * F.softplus(self.noise(x)).to(scores)


class SwitchRouter(TopKRouter):
    """Switch routing: the one expert of the highest probability, weighted by that probability over
    all experts, so the router learns from a single expert.

    In training its input is multiplied by numbers between 1 - jitter and 1 + jitter.
    Source: Fedus, Zoph and Shazeer 2022, equations 1 and 2, and section 2.4.
    """

    def __init__(self, d_model: int, n_experts: int, jitter: float = 0.0) -> None:
        super().__init__(d_model, n_experts, n_chosen=1)
        self.jitter = jitter

    def forward(self, x: Tensor) -> Routing:
        """Return the routing of x (B, T, d_model)."""
        if self.training and self.jitter:
            x = x * torch.empty_like(x).uniform_(1 - self.jitter, 1 + self.jitter)
        probabilities = self.scores(x).softmax(-1)
        gates, experts = probabilities.max(-1, keepdim=True)
        return Routing(experts, gates, probabilities)


class ExpertLinear(nn.Module):
    """y = x @ weight[e].T for the tokens of expert e: `n_experts` matrices in one tensor."""

    def __init__(self, n_experts: int, d_in: int, d_out: int) -> None:
        super().__init__()
        positive(n_experts=n_experts, d_in=d_in, d_out=d_out)
        self.weight = nn.Parameter(torch.empty(n_experts, d_out, d_in))
        nn.init.normal_(self.weight, std=d_in**-0.5)

    def forward(self, inputs: list[Tensor]) -> list[Tensor]:
        """Return the outputs (n_e, d_out) of each expert e for its inputs (n_e, d_in)."""
        return [F.linear(x, w) for x, w in zip(inputs, self.weight, strict=True)]


class Experts(nn.Module):
    """out[e](dropout(activation(inner[e](x)))) for the tokens of expert e, each expert at once."""

    def __init__(
        self, n_experts: int, d_model: int, d_ff: int, activation: Activation, dropout: float = 0.0
    ) -> None:
        super().__init__()
        positive(d_model=d_model, d_ff=d_ff)
        self.inner = ExpertLinear(n_experts, d_model, d_ff)
        self.out = ExpertLinear(n_experts, d_ff, d_model)
        self.activation, self.dropout = activation, nn.Dropout(dropout)

    def forward(self, inputs: list[Tensor]) -> list[Tensor]:
        """Return the outputs (n_e, d_model) of each expert e for its inputs (n_e, d_model)."""
        return self.out([self.dropout(self.activation(h)) for h in self.inner(inputs)])


class SparseExperts(nn.Module):
    """`n_experts` feed-forward layers without biases; a token's output is the sum over the experts
    chosen by the router, each times its gate.

        y = sum over the chosen experts e of gate[e] * out[e](activation(inner[e](x)))

    Tokens are sorted by expert, so that each expert multiplies once, and parameters grow with
    `n_experts` where operations grow with the router's `n_chosen`. `capacity` is how many tokens of
    a text an expert processes, the first ones (first choices before second ones); None: all. A
    token whose experts are full gets 0, and passes on through the residual connection. (Token by
    token, in decoding, no expert is ever full.)

    Hook points: `probabilities` (B, T, E), the router's; `balance`, a `LossPoint`: the scalar of
    `balance_loss`, times `balance_weight`.

    System: sparse_moe
    Parent: ffn
    What differs:
    - many feed-forward layers in parallel, without biases (`Experts`)
    - a matrix scores them for each token, which uses few of them (`TopKRouter`); in training its
      scores may have noise (`NoisyTopKRouter`)
    - their outputs are summed, each times its gate (`Routing.gates`)
    - an expert may be full, and then outputs 0 (`capacity`)
    - a load-balancing loss (`balance_loss`, by `balance_weight`)
    Source: Shazeer et al. 2017, section 2; capacity: Fedus et al. 2022, section 2.2.
    Book: 5.4.1
    """

    def __init__(
        self,
        router: TopKRouter,
        d_model: int,
        d_ff: int,
        activation: Activation = relu,
        dropout: float = 0.0,
        *,
        capacity: int | None = None,
        balance_weight: float = 0.01,
    ) -> None:
        super().__init__()
        positive(capacity=capacity)
        self.router, self.capacity, self.balance_weight = router, capacity, balance_weight
        self.experts = Experts(router.n_experts, d_model, d_ff, activation, dropout)
        self.probabilities, self.balance = HookPoint(), LossPoint()

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model)."""
        routing = self.router(x)
        probabilities = self.probabilities(routing.probabilities)
        if self.balance.listening:
            self.balance(self.balance_weight * balance_loss(probabilities, routing.experts))
        tokens, k = x.flatten(0, 1), routing.experts.shape[-1]  # (N, d_model), N = B * T
        kept = self.served(routing.experts).flatten()  # (N * k,)
        expert = routing.experts.flatten().masked_fill(~kept, self.router.n_experts)
        order = expert.argsort(stable=True)[: int(kept.sum())]  # the pairs, expert by expert
        counts = expert.bincount(minlength=self.router.n_experts + 1)[:-1].tolist()
        token = order // k
        outputs = torch.cat(self.experts(list(tokens[token].split(counts))))
        gates = routing.gates.flatten()[order, None].to(outputs.dtype)
        return torch.zeros_like(tokens).index_add(0, token, gates * outputs).view_as(x)

    def served(self, experts: Tensor) -> Tensor:
        """Return which choices (B, T, k) are within capacity, bool: in each text, in order, all
        first choices before any second.
        """
        if self.capacity is None:
            return torch.ones_like(experts, dtype=torch.bool)
        by_choice = experts.transpose(1, 2).flatten(1)  # (B, k * T), choice by choice
        one_hot = F.one_hot(by_choice, self.router.n_experts)  # (B, k * T, E)
        rank = (one_hot.cumsum(1) * one_hot).sum(-1)  # 1 for the first token of this expert
        within_capacity: Tensor = rank <= self.capacity  # (B, k * T)
        return within_capacity.unflatten(1, (experts.shape[2], -1)).mT  # (B, T, k)


def balance_loss(probabilities: Tensor, experts: Tensor) -> Tensor:
    """Return E * sum over experts of (fraction of choices) * (mean probability), a scalar.

    probabilities: (B, T, E). experts: (B, T, k), the choices, before any is full. It is 1 where
    both are even, E where one expert gets all. The fractions are counts, without a gradient: each
    expert's probability decreases in proportion to its tokens.
    Source: Fedus, Zoph and Shazeer 2022, equations 4 to 6.

    >>> even = torch.tensor([[[0.5, 0.5], [0.5, 0.5]]])
    >>> balance_loss(even, torch.tensor([[[0], [1]]])).item()
    1.0
    """
    n = probabilities.shape[-1]
    fraction = experts.flatten().bincount(minlength=n).to(probabilities.dtype) / experts.numel()
    loss: Tensor = n * (fraction * probabilities.flatten(0, -2).mean(0)).sum()
    return loss

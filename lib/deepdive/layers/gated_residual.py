"""A pre-norm residual connection whose branch a learned gate switches on or off, token by token:
the layers of `deepdive.models.efficient.conditional_computation`.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm, PreNorm
from deepdive.core.checks import numbers, positive
from deepdive.core.hooks import HookPoint
from deepdive.core.residual import Norm, Sublayer


class GatedPreNorm(PreNorm):
    """x + g * dropout(sublayer(norm(x))), with one gate g per token.

        logit = out(relu(hidden(norm(x))))                                       # (B, T, 1)
        g     = sigmoid(logit + noise * normal)  in training;  logit > 0  in evaluation

    Increase `noise` over the training run, so that the network learns to give logits whose sign
    survives it. Hook point: `gate` (B, T, 1), before it multiplies the branch.
    Raises ValueError for a negative noise.
    """

    def __init__(
        self,
        d_model: int,
        norm: Norm = LayerNorm,
        dropout: float = 0.0,
        d_control: int = 16,
        noise: float = 0.0,
    ) -> None:
        super().__init__(d_model, norm, dropout)
        positive(d_control=d_control)
        numbers(noise=noise)
        self.noise, self.gate = noise, HookPoint()
        self.control = nn.Sequential(
            nn.Linear(d_model, d_control), nn.ReLU(), nn.Linear(d_control, 1)
        )

    def gates(self, h: Tensor) -> Tensor:
        """Return the gates (B, T, 1) of normalized states h (B, T, d_model)."""
        logits = self.control(h)
        if not self.training:
            return (logits > 0).to(h.dtype)
        return torch.sigmoid(logits + self.noise * torch.randn_like(logits))

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """Return the stream (B, T, d_model) after the sublayer, where the gate lets it run."""
        h = self.norm(x)
        g = self.gate(self.gates(h))
        if not self.training and not g.any() and not caches(sublayer):
            return x
        return x + g * self.dropout(sublayer(h))


def caches(sublayer: Sublayer) -> bool:
    """Whether a sublayer stores keys and values for later tokens, and so has to run."""
    context = getattr(sublayer, "keywords", {}).get("context")
    return context is not None and context.cache is not None


def budget_loss(gates: Iterable[Tensor], budget: float, mask: Tensor | None = None) -> Tensor:
    """Return |mean gate - budget|, for gates (B, T, 1) of all sublayers and a fraction `budget`.

    `mask` bool (B, T), True = real token: gates of padding don't count. Record the gates during the
    forward pass, `record(model, "*.gate")`. Raises ValueError for a budget that is not in [0, 1].

    >>> budget_loss([torch.tensor([[[1.0], [0.0]]]), torch.tensor([[[0.5], [0.5]]])], 0.25).item()
    0.25
    """
    numbers(0.0, 1.0, budget=budget)
    means = [g[mask].mean() if mask is not None else g.mean() for g in gates]
    return (torch.stack(means).mean() - budget).abs()

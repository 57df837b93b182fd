"""Conditional Computation Transformer: a learned gate decides for each token whether a sublayer
runs. Bapna, Arivazhagan and Firat 2020, "Controlling Computation versus Quality for Neural Sequence
Models".

System: cct
Parent: transformer
What differs:
- a control network gates each sublayer's output, token by token (`GatedPreNorm.control`)
- during training a gate is a sigmoid with noise on its logit; in evaluation it is 0 or 1, and a
  sublayer whose gates are all 0 doesn't run (`GatedPreNorm.gates`)
- a budget loss keeps the average gate near the fraction of sublayers to be run (`budget_loss`)
Source: Bapna et al. 2020, abstract and introduction; the control network's sizes, the absolute
value in the loss, and the pre-norm branch are choices of this implementation.
Book: table 1.1
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PreNorm
from deepdive.core.checks import numbers, positive
from deepdive.core.hooks import HookPoint
from deepdive.core.residual import Norm, Sublayer
from deepdive.core.stack import Stack


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


def conditional_computation(
    d_model: int = 512,
    *,
    n_heads: int = 8,
    n_layers: int = 6,
    d_ff: int = 2048,
    d_control: int = 16,
    dropout: float = 0.1,
) -> Stack:
    """Build a stack whose sublayers are all gated, with the base Transformer's sizes."""

    def residual(width: int) -> GatedPreNorm:
        return GatedPreNorm(width, dropout=dropout, d_control=d_control)

    def block(_layer: int) -> Block:
        attention = MultiHeadAttention(d_model, n_heads)
        return Block(attention, FeedForward(d_model, d_ff), residual=residual)

    return Stack(block, n_layers, LayerNorm(d_model))


def tiny() -> Stack:
    """Return a small stack for tests: 2 layers, width 16, 4 heads."""
    return conditional_computation(16, n_heads=4, n_layers=2, d_ff=32, d_control=8, dropout=0.0)

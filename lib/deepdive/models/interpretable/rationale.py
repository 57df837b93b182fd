"""Rationale model: a selector chooses words, and a classifier predicts from these alone. Lei,
Barzilay and Jaakkola 2016, "Rationalizing Neural Predictions".

    p_t    = sigmoid(selector(tokens)_t)          # is word t selected?
    z_t    = 1 with probability p_t               # in training; p_t > 1/2 after it
    logits = reader(tokens, z)                    # the other words are masked like padding

The selected words are a faithful rationale: the prediction cannot depend on other words. They may
still say little of *why*, and both parts can agree on a code between them (Yu et al. 2019).

System: joint_training
Parent: none
What differs:
- the explanation is part of the model, and trained with it, instead of post hoc for a fixed model
- which words are selected is sampled, so the selector is trained by REINFORCE
  (`deepdive.training.objectives.rationale`)
- two penalties, on the number and the discontinuity of selected words, replace annotations
Source: Lei, Barzilay and Jaakkola 2016
Book: 7.3.3.2
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Selection(NamedTuple):
    """Selected words, bool (B, T); its log-probability (B,); the logits (B, n_classes)."""

    kept: Tensor
    log_prob: Tensor
    logits: Tensor


class RationaleModel(nn.Module):
    """Select words, then classify from these alone.

    selector   tokens (B, T), mask -> a logit for each word (B, T)
    reader     tokens (B, T), mask -> logits (B, n_classes); its mask is the selection
    """

    def __init__(self, selector: nn.Module, reader: nn.Module) -> None:
        super().__init__()
        self.selector, self.reader = selector, reader

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the logits (B, n_classes) of one sample, or of the likelier words in `eval`."""
        return self.select(tokens, mask).logits

    def select(self, tokens: Tensor, mask: Tensor | None = None) -> Selection:
        """Return the selection for each text, and its prediction. In `eval`, a text without any
        selected word keeps its likeliest one; in training the prediction uses none.
        """
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        scores = self.selector(tokens, real).masked_fill(~real, -torch.inf)
        p = scores.sigmoid()
        if self.training:
            kept = torch.rand_like(p) < p
        else:
            likeliest = nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).bool()
            kept = (p > 0.5) | likeliest
        return Selection(kept, log_prob(scores, kept, real), self.reader(tokens, kept))


def log_prob(scores: Tensor, kept: Tensor, real: Tensor) -> Tensor:
    """Return log p(kept) (B,) of independent samples, p = sigmoid(scores), at real positions."""
    sign = torch.where(kept, 1.0, -1.0).to(scores)
    return (
        nn.functional.logsigmoid(sign * scores.masked_fill(~real, 0)).masked_fill(~real, 0).sum(-1)
    )

"""A classifier that first says which words it will read, and then reads no other. Lei, Barzilay and
Jaakkola 2016, "Rationalizing Neural Predictions".

    p_t    = sigmoid(selector(tokens)_t)          # is word t kept?
    z_t    = 1 with probability p_t               # in training; p_t > 1/2 after it
    logits = reader(tokens, z)                    # the other words are as padding to it

The words that are kept are a rationale that cannot lie: what was not kept was not read. They may
still say little of *why*, and both parts can agree on a code between them (Yu et al. 2019).

System: joint_training
Parent: none
What differs:
- the explanation is part of the model, and learned with it, not sought in a model that stands
- which words are kept is drawn, so that the selector learns by the score of its draws
  (`deepdive.training.objectives.rationale`)
- few words, and neighbours, are paid for: two penalties in the place of marked rationales
Source: Lei, Barzilay and Jaakkola 2016
Book: 7.3.3.2
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Selection(NamedTuple):
    """What was kept, bool (B, T); its log-probability (B,); the answer, logits (B, n_classes)."""

    kept: Tensor
    log_prob: Tensor
    logits: Tensor


class RationaleModel(nn.Module):
    """Keeps words, then answers from these alone.

    selector   tokens (B, T), mask -> a score for each word (B, T)
    reader     tokens (B, T), mask -> logits (B, n_classes); it sees the mask of what is kept
    """

    def __init__(self, selector: nn.Module, reader: nn.Module) -> None:
        super().__init__()
        self.selector, self.reader = selector, reader

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the logits (B, n_classes) of one drawing, or of the likelier words in `eval`."""
        return self.select(tokens, mask).logits

    def select(self, tokens: Tensor, mask: Tensor | None = None) -> Selection:
        """Return what is kept of each text, and what is answered. In `eval`, a text of which
        nothing would be kept keeps its likeliest word; in training it is answered without any.
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
    """Return log p(kept) (B,) of independent draws, p = sigmoid(scores), in the real places."""
    sign = torch.where(kept, 1.0, -1.0).to(scores)
    return (
        nn.functional.logsigmoid(sign * scores.masked_fill(~real, 0)).masked_fill(~real, 0).sum(-1)
    )

"""Train rationale selection from labels alone. Lei, Barzilay and Jaakkola 2016.

    cost = cross-entropy(logits, label) + few * sum_t z_t + joined * sum_t |z_t - z_(t-1)|    # (B,)

The selection z is sampled, and sampling has no gradient. The selector's is estimated by the score
function (REINFORCE): its mean over samples is the gradient of the expected cost,

    grad E[cost] = E[grad cross-entropy + (cost - baseline) grad log p(z)]

for any baseline that does not depend on the sample; the mean cost of the other texts is one.

What differs from cross-entropy:
- two penalties, on the number of selected words and on how often a selection begins or ends
- a surrogate term whose value means nothing, only its gradient (`rationale_loss`)
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.checks import positive


def penalty(kept: Tensor, few: float, joined: float) -> Tensor:
    """Return few * sum_t z_t + joined * sum_t |z_t - z_(t-1)|, (B,), for a selection (B, T)."""
    z = kept.double()
    return (few * z.sum(-1) + joined * (z[:, 1:] - z[:, :-1]).abs().sum(-1)).float()


def rationale_loss(
    logits: Tensor, labels: Tensor, kept: Tensor, log_prob: Tensor, few: float, joined: float
) -> Tensor:
    """Return a surrogate loss whose gradient estimates that of the mean expected cost.

    logits (B, C), labels int64 (B,), kept bool (B, T) and log_prob (B,) of one sample per text, as
    `deepdive.models.interpretable.rationale` returns them. Raises ValueError for a batch of one
    text: the baseline is the mean cost of the others.
    Source: Lei, Barzilay and Jaakkola 2016.
    """
    positive(texts=len(labels))
    if len(labels) < 2:
        raise ValueError("labels: got one text, expected two or more: the others' mean cost is"
                         " the baseline")  # fmt: skip
    loss = F.cross_entropy(logits, labels, reduction="none")
    cost = (loss + penalty(kept, few, joined).to(loss)).detach()
    baseline = (cost.sum() - cost) / (len(cost) - 1)
    return torch.mean(loss + (cost - baseline) * log_prob)

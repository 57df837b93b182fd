"""Adversarial attention: the same predictions with other weights, as in "Attention is not not
Explanation". Wiegreffe and Pinter 2019.

    loss = tvd(y, y_base) - far * KL(weights || weights_base)          # a mean over the texts

y are the adversary's predicted probabilities and `weights` its attention; those of the base model,
trained as usual, are fixed. With far = 0 it learns to predict like the base; the larger `far`, the
more it is rewarded for attention that differs.

No label is used: the base is the teacher, as in distillation.

System: attention_not_not_explanation
Parent: attention_not_explanation
What differs:
- alternative weights are not searched per text: a model is trained to have them, with predictions
  like the base's (`divergent_loss`)
- a baseline first tests whether attention is needed: uniform weights
  (`deepdive.models.interpretable.attention_classifier.UniformAttention`)
- a probe then tests whether a model without an encoder can use the weights (`no_rnn`)
Source: Wiegreffe and Pinter 2019, sections 3 and 4.
Book: 7.4.2
"""

import torch
from torch import Tensor


def divergent_loss(
    shares: Tensor, base: Tensor, weights: Tensor, base_weights: Tensor, far: float
) -> Tensor:
    """Return the loss of probabilities `shares` (B, C) and weights (B, T), with the base's.

    A position with base weight 0 is padding, and adds nothing. Raises ValueError for far < 0.
    """
    if not far >= 0:
        raise ValueError(f"far={far}: expected 0 or more; 0 leaves the attention unchanged")
    moved = (shares - base).abs().sum(-1) / 2
    seen = base_weights > 0
    least = torch.finfo(weights.dtype).tiny
    ratio = weights.clamp(min=least).log() - base_weights.clamp(min=least).log()
    apart = (weights * ratio).masked_fill(~seen, 0.0).sum(-1)
    return (moved - far * apart).mean()

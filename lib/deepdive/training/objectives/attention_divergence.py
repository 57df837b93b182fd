"""Learn the same answers with other attention: the adversary of "Attention is not not Explanation".
Wiegreffe and Pinter 2019.

    loss = tvd(y, y_base) - far * KL(weights || weights_base)          # a mean over the texts

y are the shares that the adversary answers and `weights` its attention; both bases are those of a
model that was trained as usual, and stay as they are. With far = 0 it learns to answer like the
base; the larger `far`, the more it is paid for looking elsewhere.

No label is read: the base is the teacher, as in distillation.

System: attention_not_not_explanation
Parent: attention_not_explanation
What differs:
- other weights are not searched for text by text: a model is taught to have them, and to answer as
  the base does (`divergent_loss`)
- before that it is asked whether attention is needed: all weights alike
  (`deepdive.models.interpretable.attention_classifier.UniformAttention`)
- and after it whether a model without an encoder can use the weights (`no_rnn`)
Source: Wiegreffe and Pinter 2019, sections 3 and 4.
Book: 7.4.2
"""

import torch
from torch import Tensor


def divergent_loss(
    shares: Tensor, base: Tensor, weights: Tensor, base_weights: Tensor, far: float
) -> Tensor:
    """Return the loss of a batch: shares (B, C), weights (B, T), and those of the base, likewise.

    A place where the base's weight is 0 adds nothing: it is padding. Raises ValueError for far < 0.
    """
    if not far >= 0:
        raise ValueError(f"far={far}: expected 0 or more; 0 leaves the attention alone")
    moved = (shares - base).abs().sum(-1) / 2
    seen = base_weights > 0
    least = torch.finfo(weights.dtype).tiny
    ratio = weights.clamp(min=least).log() - base_weights.clamp(min=least).log()
    apart = (weights * ratio).masked_fill(~seen, 0.0).sum(-1)
    return (moved - far * apart).mean()

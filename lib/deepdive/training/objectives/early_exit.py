"""The two losses of DeeBERT's training. Xin et al. 2020, section 3.1."""

import torch.nn.functional as F
from torch import Tensor


def stage_loss(exits: Tensor, labels: Tensor, stage: int) -> Tensor:
    """Return the last off-ramp's cross-entropy in stage 1, the sum of the others' in stage 2, for
    `all_exits` (n_layers, B, n_classes) and labels (B,).
    """
    if stage == 1:
        return F.cross_entropy(exits[-1], labels)
    return sum((F.cross_entropy(logits, labels) for logits in exits[:-1]), exits.new_zeros(()))

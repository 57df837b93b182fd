"""Losses of a causal language model, for pretraining and for fine-tuning on a task."""

import torch.nn.functional as F
from torch import Tensor


def tuning_loss(task: Tensor, next_token: Tensor, weight: float = 0.5) -> Tensor:
    """Return L3 = L2 + weight * L1, means over a batch: the task's loss, and an auxiliary language
    modeling loss on the same texts, against forgetting.

    Source: Radford et al. 2018, equation 5; the weight, section 4.1.
    """
    return task + weight * next_token


def next_token_loss(logits: Tensor, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return L1 for logits (B, T, V) of tokens (B, T): the mean of -log p(next) over real tokens
    that have a next one.
    """
    targets = tokens[:, 1:] if mask is None else tokens[:, 1:].masked_fill(~mask[:, 1:], -100)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten())

"""Masked sentences, HIBERT's pretraining objective. Zhang et al. 2019, section 3.2."""

from typing import NamedTuple

import torch
from torch import Tensor

from deepdive.core.checks import numbers


class Masked(NamedTuple):
    """Corrupted documents (B, S, T) with their mask, and the sentences to predict, bool (B, S)."""

    tokens: Tensor
    mask: Tensor
    chosen: Tensor


def mask_sentences(
    tokens: Tensor, mask: Tensor, mask_id: int, generator: torch.Generator, rate: float = 0.15
) -> Masked:
    """Choose sentences with probability `rate`. Of those, 80% have every token but the last, the
    end token, replaced by `mask_id`, 10% are replaced by a sentence of the batch, and 10% stay.
    """
    numbers(0.0, 1.0, rate=rate)
    real = mask.any(-1)
    chosen = (torch.rand(real.shape, generator=generator) < rate) & real
    kind = torch.rand(real.shape, generator=generator)
    left = mask.flip(-1).cumsum(-1).flip(-1)  # real tokens from here to the end
    masked = torch.where((chosen & (kind < 0.8))[..., None] & (left > 1) & mask, mask_id, tokens)
    other = torch.randperm(int(real.sum()), generator=generator)
    other_tokens, other_mask = tokens.clone(), mask.clone()
    other_tokens[real], other_mask[real] = tokens[real][other], mask[real][other]
    swap = (chosen & (kind >= 0.9))[..., None]
    return Masked(
        torch.where(swap, other_tokens, masked), torch.where(swap, other_mask, mask), chosen
    )

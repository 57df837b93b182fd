"""Masked entities: LUKE's second objective, in addition to that of words (`mask_tokens`)."""

import torch
from torch import Tensor

from deepdive.core.masks import describe


def mask_entities(
    entities: Tensor,
    rate: float = 0.15,
    *,
    pad: int = 0,
    unknown: int = 1,
    mask: int = 2,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Mask some of the entities, to be predicted from the words and from one another.

        inputs = mask where chosen, with probability rate; else the entity

    entities: int64 (B, E), ids of an entity vocabulary; `pad`, `unknown` and `mask` are its special
        ids, by default those of the released table, and are not chosen.
    generator: random generator; None: torch's global one.

    Words are masked separately (`mask_tokens`), and the loss is the sum of both:
    `cross_entropy(words, ...) + cross_entropy(entity_logits, targets, pad=pad)`.
    Returns inputs, targets (`pad` where none was chosen) and chosen (bool), all like entities.
    Raises TypeError for entities that are not int64, ValueError for a rate not a probability.

    Source: Yamada et al. 2020, section 3.3: a chosen entity is always masked, never replaced.
    """
    if not isinstance(entities, Tensor) or entities.dtype != torch.int64:
        raise TypeError(f"entities: got {describe(entities)}, expected torch.int64 ids (B, E)")
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate: got {rate}, expected a probability from 0 to 1")
    special = torch.tensor([pad, unknown, mask], device=entities.device)
    drawn = torch.rand(entities.shape, generator=generator, device=entities.device)
    chosen = (drawn < rate) & ~torch.isin(entities, special)
    return entities.masked_fill(chosen, mask), entities.masked_fill(~chosen, pad), chosen

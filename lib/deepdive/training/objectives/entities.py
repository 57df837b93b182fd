"""Masked entities: LUKE's second objective, beside that of words (`mask_tokens`)."""

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
    """Hide a part of the entities, to be told from the words and from one another.

        inputs = mask where chosen, with probability rate; else the entity

    entities: int64 (B, E), ids of a table of entities; `pad`, `unknown` and `mask` are its special
        ones, by default as the released table has them, and are not chosen.
    generator: where the draws come from; None: torch's global one.

    Words are masked apart (`mask_tokens`), and the loss is the sum of both:
    `cross_entropy(words, ...) + cross_entropy(entity_logits, targets, pad=pad)`.
    Returns inputs, targets (`pad` where none was chosen) and chosen (bool), all like entities.
    Raises TypeError for entities that are no int64, ValueError for a rate that is no probability.

    Source: Yamada et al. 2020, section 3.3: a chosen entity is always hidden, never exchanged.
    """
    if not isinstance(entities, Tensor) or entities.dtype != torch.int64:
        raise TypeError(f"entities: came as {describe(entities)}, expected torch.int64 ids (B, E)")
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate: came as {rate}, expected a probability from 0 to 1")
    special = torch.tensor([pad, unknown, mask], device=entities.device)
    drawn = torch.rand(entities.shape, generator=generator, device=entities.device)
    chosen = (drawn < rate) & ~torch.isin(entities, special)
    return entities.masked_fill(chosen, mask), entities.masked_fill(~chosen, pad), chosen

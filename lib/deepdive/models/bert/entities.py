"""LUKE's entity embeddings: each entity has the positions of the words that mention it."""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm
from deepdive.core.embeddings import TokenEmbedding, check_segments, check_tokens, look_up
from deepdive.core.masks import describe


class EntityEmbeddings(nn.Module):
    """Entity embeddings: dropout(norm(project(tokens[e]) + mean of position[p] for p of its mention
    + segments[s])), shape (B, E, d_model).

    `position` is a table for entities only, indexed by the positions of words.
    Source: Yamada et al. 2020, section 3.1.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        wide = config.d_model
        self.tokens = TokenEmbedding(config.n_entities, config.d_entity)
        same = config.d_entity == wide
        self.project = nn.Identity() if same else nn.Linear(config.d_entity, wide, bias=False)
        self.position = nn.Embedding(config.max_length + config.unused_positions, wide)
        self.segments = nn.Embedding(config.n_segments, wide)
        self.norm, self.dropout = LayerNorm(wide, config.eps), nn.Dropout(config.dropout)

    def forward(
        self, entities: Tensor, mentions: Tensor, places: Tensor, segments: Tensor | None = None
    ) -> Tensor:
        """Return embeddings (B, E, d_model) for entities and segments (B, E), mentions bool (B, E,
        T): which words mention it, and the positions `places` (T,) or (B, T) of the words.
        """
        check_tokens(entities, "entities")
        shape = (*entities.shape, places.shape[-1])
        if not isinstance(mentions, Tensor) or mentions.dtype != torch.bool:
            raise TypeError(f"mentions must be bool (B, E, T); got {describe(mentions)}")
        if mentions.shape != shape:
            raise ValueError(
                f"mentions must be bool (B, E, T) = {shape}, the tokens of each mention; got "
                f"{tuple(mentions.shape)}. mentions_of makes them from spans"
            )
        if segments is not None:
            check_segments(segments, entities, self.segments.num_embeddings)
        x = self.project(look_up(self.tokens.weight, entities, "entities"))
        text = self.segments.weight[0] if segments is None else self.segments(segments)
        at = self.position(places)
        share = mentions.to(at.dtype) / mentions.sum(-1, keepdim=True).clamp(min=1)  # (B, E, T)
        return self.dropout(self.norm(x + share @ at + text))


def mentions_of(spans: Tensor, T: int) -> Tensor:
    """Return mentions (B, E, T), bool, for spans (B, E, 2): first word, word after the last."""
    at, (begin, end) = torch.arange(T, device=spans.device), spans[..., None].unbind(-2)
    return (begin <= at) & (at < end)

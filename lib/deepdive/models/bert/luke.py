"""LUKE: RoBERTa over words and entities with entity-aware self-attention. Yamada et al. 2020,
"LUKE: Deep Contextualized Entity Representations with Entity-aware Self-attention".

Without entities it is RoBERTa. Entities are appended to the words, at their mentions' positions.

Long because words and entities are two sequences, each with embeddings, masks and positions.

System: luke
Parent: roberta
What differs:
- entities are extra input tokens with their own factorized embedding table; an entity's position
  embedding is the mean over its mention (`EntityEmbeddings`)
- four query matrices, one for each pair of word and entity types (`EntityAwareAttention`)
- words and entities are masked, and both are predicted (`deepdive.models.bert.luke_heads`,
  `deepdive.training.objectives.mask_entities`)
- a task uses the hidden states of its entities, one or a pair (`EntityClassifier`)
Source: Yamada et al. 2020, sections 3 and 4, and their released code.
Book: 3.2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention.heads.projections import EntityAwareAttention
from deepdive.core import Block
from deepdive.core.embeddings import check_tokens
from deepdive.core.masks import Mask, Padding, padding
from deepdive.core.stack import Stack
from deepdive.models.bert import roberta
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.models.bert.entities import EntityEmbeddings


class Luke(Bert):
    """RoBERTa for words only; `joint` encodes words and entities together."""

    def __init__(self, embeddings: BertEmbeddings, stack: Stack, config: LukeConfig) -> None:
        super().__init__(embeddings, stack, config)
        self.entities = EntityEmbeddings(config)

    def joint(
        self,
        tokens: Tensor,
        entities: Tensor,
        mentions: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        entity_segments: Tensor | None = None,
    ) -> Tensor:
        """Return the hidden states (B, T + E, d_model) of tokens (B, T), then of entities (B, E).

        `mentions` bool (B, E, T): the words that mention each entity; without any it is padding.
        """
        check_tokens(tokens)
        padding(mask, tokens, "mask")
        positions = self.embeddings.positions(tokens, mask)
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        named = self.entities(entities, mentions, positions, entity_segments)
        x = torch.cat((self.embeddings(tokens, segments, positions), named), 1)
        keys = Padding(torch.cat((real, mentions.any(-1)), 1))
        for block in self.stack.blocks:
            x = read(block, x, tokens.shape[1], keys)
        return x


def read(block: nn.Module, x: Tensor, n_words: int, mask: Mask) -> Tensor:
    """Return one layer's output (B, T + E, d_model) for words, then entities."""
    assert isinstance(block, Block)
    attn = block.attn
    assert isinstance(attn, EntityAwareAttention)
    x = block.attn_residual(x, lambda h: attn.joint(h, n_words, mask))
    return block.stream(block.ff_residual(x, block.ff))


def entity_aware(config: EncoderConfig, layer: int) -> EntityAwareAttention:
    """Return a layer's entity-aware self-attention."""
    return EntityAwareAttention(config.d_model, config.n_heads, config.weights_dropout)


@dataclass(frozen=True)
class LukeConfig(EncoderConfig):
    """BERT's config with `n_entities` and `d_entity`, the shape of the entity embedding table."""

    n_entities: int = 500_000
    d_entity: int = 256


BASE = LukeConfig(
    vocab_size=50_267, n_segments=1, eps=1e-5, unused_positions=2, family="luke",
    embeddings=roberta.RobertaEmbeddings, attention=entity_aware, model=Luke,
)  # fmt: skip
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY | {"n_entities": 12, "d_entity": 8})


def luke(config: LukeConfig = BASE, **changes: Any) -> Luke:
    """Build an encoder; defaults are the released base model."""
    model = bert(config, **changes)
    assert isinstance(model, Luke)
    return model

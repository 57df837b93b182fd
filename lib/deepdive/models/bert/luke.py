"""LUKE: words and the entities that they name as one sequence. Yamada et al. 2020, "LUKE: Deep
Contextualized Entity Representations with Entity-aware Self-attention".

Without entities it is RoBERTa. With them, each stands behind the words, at its mention's place.

Long because it holds the attention, the two sequences and the head for tasks.

System: luke
Parent: roberta
What differs:
- a row more for each entity, from a table of their own, narrow and projected; its place is the mean
  of the places of its mention (`EntityEmbeddings`)
- a query has four matrices, by what asks and what is asked: word or entity (`EntityAwareAttention`)
- words and entities are masked, and both are told (`deepdive.models.bert.luke_heads`,
  `deepdive.training.objectives.mask_entities`)
- a task reads the states of its entities, one or a pair (`EntityClassifier`)
Source: Yamada et al. 2020, sections 3 and 4, and their released code.
Book: 3.2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import Block, MultiHeadAttention
from deepdive.core.checks import positive
from deepdive.core.embeddings import check_tokens
from deepdive.core.masks import Mask, Padding, padding
from deepdive.core.multi_head import split_heads
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialise
from deepdive.models.bert import roberta
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.models.bert.entities import EntityEmbeddings


class EntityAwareAttention(MultiHeadAttention):
    """Attention whose query depends on what it asks: a word (w) or an entity (e).

        scores[t, s] = scale * (W_{kind(t) kind(s)} x_t) . k_s      # W_ww, W_we, W_ew, W_ee

    `q` is W_ww, `w2e`, `e2w` and `e2e` are the others. Keys and values have one matrix each.
    Source: Yamada et al. 2020, section 3.2.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, n_heads, dropout=dropout)
        self.w2e, self.e2w, self.e2e = (nn.Linear(d_model, d_model) for _ in range(3))

    def joint(self, x: Tensor, n_words: int, mask: Mask | None = None) -> Tensor:
        """Return (B, T + E, d_model) for x (B, T + E, d_model), whose first `n_words` = T rows are
        words.
        """
        words, entities = x[:, :n_words], x[:, n_words:]
        k, v = self.keys_and_values(x)  # (B, H, T + E, d_head)
        to_words = torch.cat((self.q(words), self.e2w(entities)), 1)
        to_entities = torch.cat((self.w2e(words), self.e2e(entities)), 1)
        heads = (split_heads(to_words, self.n_heads), split_heads(to_entities, self.n_heads))
        # Twice as wide, a key stands in the half of its kind: there a query has what it asks that.
        is_word = (torch.arange(x.shape[1], device=x.device) < n_words)[:, None]
        q, k = torch.cat(heads, -1), torch.cat((k * is_word, k * ~is_word), -1)
        return self.output(self.mechanism(q, k, self.values(v), mask, None, self.d_head**-0.5))


class Luke(Bert):
    """RoBERTa for words alone; `joint` reads entities behind them."""

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
        """Return the states (B, T + E, d_model) of tokens (B, T), then of entities (B, E).

        `mentions` bool (B, E, T): which words name it; an entity that none names is padding.
        """
        check_tokens(tokens)
        padding(mask, tokens, "mask")
        places = self.embeddings.positions(tokens, mask)
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        named = self.entities(entities, mentions, places, entity_segments)
        x = torch.cat((self.embeddings(tokens, segments, places), named), 1)
        keys = Padding(torch.cat((real, mentions.any(-1)), 1))
        for block in self.stack.blocks:
            x = read(block, x, tokens.shape[1], keys)
        return x


def read(block: nn.Module, x: Tensor, n_words: int, mask: Mask) -> Tensor:
    """Return the stream (B, T + E, d_model) after RoBERTa's layer for words, then entities."""
    assert isinstance(block, Block)
    attn = block.attn
    assert isinstance(attn, EntityAwareAttention)
    x = block.attn_residual(x, lambda rows: attn.joint(rows, n_words, mask))
    return block.stream(block.ff_residual(x, block.ff))


class EntityClassifier(nn.Module):
    """logits = out(dropout(states of the first entities, side by side)), (B, n_classes).

    `n_entities` = 1: what is it; 2: how are they related. The released pairs have no `bias`.
    Source: Yamada et al. 2020, sections 4.1 and 4.2.
    """

    def __init__(
        self, encoder: Luke, d_model: int, n_classes: int, n_entities: int = 1,
        dropout: float = 0.1, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(d_model=d_model, n_classes=n_classes, n_entities=n_entities)
        self.encoder, self.n_entities, self.dropout = encoder, n_entities, nn.Dropout(dropout)
        self.out = nn.Linear(n_entities * d_model, n_classes, bias=bias)
        initialise(self.out)

    def forward(
        self, tokens: Tensor, entities: Tensor, mentions: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Return logits (B, n_classes); the arguments are those of `Luke.joint`."""
        check_tokens(tokens)
        if entities.shape[-1] < self.n_entities:
            raise ValueError(
                f"entities are {tuple(entities.shape)}, expected (B, E) with E of "
                f"{self.n_entities} or more: the classes are told from the first of them"
            )
        states = self.encoder.joint(tokens, entities, mentions, mask)[:, tokens.shape[1] :]
        return self.out(self.dropout(states[:, : self.n_entities].flatten(1)))


def entity_aware(config: EncoderConfig, layer: int) -> EntityAwareAttention:
    """Return the attention of a layer."""
    return EntityAwareAttention(config.d_model, config.n_heads, config.weights_dropout)


@dataclass(frozen=True)
class LukeConfig(EncoderConfig):
    """`n_entities`, `d_entity`: rows of the table of entities, and how wide they are."""

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

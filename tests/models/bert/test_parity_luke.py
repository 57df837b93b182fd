"""LUKE against transformers in float64: words, entities, both heads, and heads for tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import MASK, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike, tokens
from parity_registry import equal, parity
from torch import Tensor, nn
from transformers import (
    LukeConfig,
    LukeForEntityClassification,
    LukeForEntityPairClassification,
    LukeForMaskedLM,
    LukeModel,
    PreTrainedModel,
)

from deepdive.attention.heads.projections import EntityAwareAttention
from deepdive.models.bert import entities, luke, luke_heads
from deepdive.published import family, from_config, load
from deepdive.published.weights import adopt, translate

LUKE: dict[str, Any] = {
    **SIZES, "type_vocab_size": 2, "entity_vocab_size": 9, "entity_emb_size": 8,
    "layer_norm_eps": 1e-5,
}  # fmt: skip
PADDED = SRC.masked_fill(~MASK, 1)  # RoBERTa's padding is 1
ENTITIES = torch.tensor([[3, 4, 8], [5, 4, 0], [6, 0, 0]])
SPANS = torch.tensor([[[0, 1], [2, 5], [4, 7]], [[1, 5], [3, 4], [0, 0]], [[0, 3], [0, 0], [0, 0]]])
MENTIONS = entities.mentions_of(SPANS, 7)
NAMED = MENTIONS.any(-1)
SEGMENTS, THEIR_SEGMENTS = tokens(3, 7, vocab=6) - 4, tokens(3, 3, vocab=6, seed=2) - 4


def named(mentions: Tensor) -> dict[str, Tensor]:
    """Entities as theirs takes them: the place of each word of a mention, then -1."""
    places = torch.arange(7).expand_as(mentions).masked_fill(~mentions, 99).sort(-1).values
    return {
        "entity_ids": ENTITIES,
        "entity_attention_mask": mentions.any(-1).long(),
        "entity_position_ids": places.masked_fill(places == 99, -1),
    }


def parts(states: Tensor, real: Tensor) -> Tensor:
    """The states of real words and real entities."""
    return states[torch.cat((real, NAMED), 1)]


@parity("luke", luke_heads.LukeForMaskedLM, EntityAwareAttention, entities.EntityEmbeddings)
def luke_agrees() -> None:
    theirs = reference(LukeForMaskedLM, LukeConfig, **LUKE)
    ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
    # Entities without segments here, words alone there: what both say together has all gradients.
    expected = theirs(PADDED, MASK.long(), SEGMENTS, **named(MENTIONS))
    states = ours.bert.joint(PADDED, ENTITIES, MENTIONS, MASK, SEGMENTS)
    mine = [ours.masked_logits(states[:, :7])[MASK], ours.entity_logits(states[:, 7:])[NAMED]]
    other = [expected.logits[MASK], expected.entity_logits[NAMED]]
    mine.append(ours(PADDED.flip(1), MASK.flip(1))[MASK.flip(1)])
    other.append(theirs(PADDED.flip(1), MASK.flip(1).long()).logits[MASK.flip(1)])
    flat = [torch.cat([each.flatten() for each in rows]) for rows in (mine, other)]
    theirs.luke.pooler.requires_grad_(False)  # it reads nothing here
    tied = r"^lm_head\.bias$", "lm_head.decoder.bias"  # two names of one tensor
    alike(ours, theirs, *flat, [tied, family("luke").table("masked_lm")])
    for settings in ({}, {"entity_emb_size": 16}):  # as wide as the stream: no projection
        whole = reference(LukeModel, LukeConfig, **LUKE | settings)
        body = saved_and_loaded(whole, load)
        more = {"entity_token_type_ids": THEIR_SEGMENTS, **named(MENTIONS)}
        said = whole(PADDED, MASK.long(), SEGMENTS, **more)
        both = torch.cat((said.last_hidden_state, said.entity_last_hidden_state), 1)
        joint = body.joint(PADDED, ENTITIES, MENTIONS, MASK, SEGMENTS, THEIR_SEGMENTS)
        equal(parts(joint, MASK), parts(both, MASK))
        equal(body(SRC[:1]), whole(SRC[:1]).last_hidden_state)


def classifies(kind: type[PreTrainedModel], n_entities: int, bias: bool) -> None:
    theirs = reference(kind, LukeConfig, **LUKE, num_labels=3)
    encoder = from_config(theirs.config.to_dict())
    ours = luke_heads.EntityClassifier(encoder, 16, 3, n_entities, bias=bias).double().eval()
    rules = [family("luke").table().within("luke.", "encoder."), (r"^classifier\.", "out.")]
    unread = [n for n in theirs.state_dict() if n.startswith("luke.pooler")]
    adopt(ours, theirs.state_dict(), rules, leave_out=unread)
    rows = slice(0, 2)  # the third text has one entity alone
    taken = {name: each[rows] for name, each in named(MENTIONS).items()}
    logits = theirs(PADDED[rows], MASK[rows].long(), **taken).logits
    said = ours(PADDED[rows], ENTITIES[rows], MENTIONS[rows], MASK[rows])
    equal(said, logits)
    trained(theirs, ours, logits, said, rules)


def trained(
    theirs: nn.Module, ours: nn.Module, logits: Tensor, said: Tensor, rules: list[Any]
) -> None:
    """Gradients of the layer, of the entities' table and of all queries."""
    for part in (theirs.luke.pooler, theirs.luke.embeddings.token_type_embeddings):
        part.requires_grad_(False)
    ours.encoder.embeddings.segments.requires_grad_(False)
    said.square().sum().backward()
    logits.square().sum().backward()
    found = {n: p.grad for n, p in theirs.named_parameters() if p.grad is not None}
    mine = {n: p.grad for n, p in ours.named_parameters() if p.grad is not None}
    sources = translate(found, rules)
    assert set(sources) >= set(mine) > {"out.weight", "encoder.entities.tokens.weight"}
    for name, gradient in mine.items():
        equal(gradient, sources[name].tensor, 1e-8)


@parity(luke_heads.EntityClassifier)
def classifiers_agree() -> None:
    classifies(LukeForEntityClassification, 1, bias=True)
    classifies(LukeForEntityPairClassification, 2, bias=False)


def test_published_sizes() -> None:
    base = {"max_position_embeddings": 514, "type_vocab_size": 1}
    wide = {
        "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096,
        "num_hidden_layers": 24,
    }  # fmt: skip
    with torch.device("meta"):
        for size, more in ((luke.BASE, {}), (luke.LARGE, wide)):
            theirs = LukeModel(LukeConfig(**base, **more), add_pooling_layer=False)
            assert sum(p.numel() for p in luke.luke(size).parameters()) == sum(
                p.numel() for p in theirs.parameters()
            )


def test_settings_that_are_not_built_are_refused() -> None:
    config = LukeConfig(**LUKE).to_dict()
    for change in ({"use_entity_aware_attention": False}, {"pad_token_id": 0}):
        with pytest.raises(ValueError, match=next(iter(change))):
            from_config({**config, **change})


def one_query(self: Any, x: Tensor, n_words: int, mask: Any = None) -> Tensor:
    return self(x, mask=mask)


def exchanged(self: Any, x: Tensor, n_words: int, mask: Any = None) -> Tensor:
    self.w2e, self.e2w = self.e2w, self.w2e
    try:
        return right(self, x, n_words, mask)
    finally:
        self.w2e, self.e2w = self.e2w, self.w2e


def first_place(
    self: Any, entities: Tensor, mentions: Tensor, places: Tensor, segments: Any = None
) -> Tensor:
    return embedded(self, entities, mentions & (mentions.cumsum(-1) == 1), places, segments)


def from_two(
    self: Any, entities: Tensor, mentions: Tensor, places: Tensor, segments: Any = None
) -> Tensor:
    return embedded(self, entities, mentions, places + 2, segments)


right, embedded = EntityAwareAttention.joint, entities.EntityEmbeddings.forward
MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "one query for all": (luke_agrees, "luke.EntityAwareAttention.joint", one_query),
    "queries exchanged": (luke_agrees, "luke.EntityAwareAttention.joint", exchanged),
    "a mention's first place": (luke_agrees, "luke.EntityEmbeddings.forward", first_place),
    "places of words, which begin at 2": (luke_agrees, "luke.EntityEmbeddings.forward", from_two),
    "a classifier of words": (
        classifiers_agree,
        "luke_heads.EntityClassifier.forward",
        lambda self, tokens, entities, mentions, mask=None: self.out(
            self.encoder.joint(tokens, entities, mentions, mask)[:, : self.n_entities].flatten(1)
        ),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(f"deepdive.models.bert.{target}", wrong), pytest.raises(AssertionError):
        proof()


@pytest.mark.parametrize("proof", [luke_agrees, classifiers_agree])
def test_the_proofs_hold_without_a_mutation(proof: Callable[[], None]) -> None:
    proof()

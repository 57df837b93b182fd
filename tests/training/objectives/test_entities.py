"""Masked entities: by hand, the share that is hidden, and what LUKE learns of it."""

from __future__ import annotations

import pytest
import torch

from deepdive.models.bert.entities import mentions_of
from deepdive.models.bert.luke import TINY, luke
from deepdive.models.bert.luke_heads import for_masked_lm
from deepdive.training.objectives import cross_entropy, mask_entities

ENTITIES = torch.tensor([[5, 1, 7, 0], [3, 2, 0, 0]])  # 0 padding, 1 unknown, 2 hidden


def test_all_and_none() -> None:
    inputs, targets, chosen = mask_entities(ENTITIES, 1.0)
    assert inputs.tolist() == [[2, 1, 2, 0], [2, 2, 0, 0]]
    assert targets.tolist() == [[5, 0, 7, 0], [3, 0, 0, 0]]
    assert torch.equal(chosen, targets != 0)
    inputs, targets, chosen = mask_entities(ENTITIES, 0.0)
    assert torch.equal(inputs, ENTITIES)
    assert not targets.any()
    assert not chosen.any()


def test_the_share_that_is_hidden() -> None:
    many = torch.full((100, 100), 9)
    inputs, targets, chosen = mask_entities(many, generator=torch.Generator().manual_seed(0))
    assert abs(int(chosen.sum()) - 1500) < 4 * 36  # four deviations of a binomial count
    assert torch.equal(inputs == 2, chosen)
    assert torch.equal(targets == 9, chosen)


def test_other_ids_for_the_special_ones() -> None:
    inputs, targets, _ = mask_entities(ENTITIES, 1.0, pad=7, unknown=3, mask=0)
    assert inputs.tolist() == [[0, 0, 7, 0], [3, 0, 0, 0]]
    assert targets.tolist() == [[5, 1, 7, 7], [7, 2, 7, 7]]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rate: got 1\.5"):
        mask_entities(ENTITIES, 1.5)
    with pytest.raises(TypeError, match="int64 ids"):
        mask_entities(ENTITIES.float())


def test_spans_are_mentions() -> None:
    mentions = mentions_of(torch.tensor([[[0, 2], [3, 3]]]), 4)
    assert mentions.int().tolist() == [[[1, 1, 0, 0], [0, 0, 0, 0]]]


def test_a_hidden_entity_is_told_from_its_words() -> None:
    """Word w names entity w - 1, and the words around it say nothing."""
    torch.manual_seed(0)
    model = for_masked_lm(luke(TINY)).train()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    tokens = torch.randint(4, 12, (32, 5))
    mentions = mentions_of(torch.tensor([[[1, 2], [3, 4]]]).expand(32, -1, -1), 5)
    entities = tokens[:, [1, 3]] - 1
    for _ in range(100):
        inputs, targets, _chosen = mask_entities(entities, 0.5)
        states = model.bert.joint(tokens, inputs, mentions)  # type: ignore[operator]
        loss = cross_entropy(model.entity_logits(states[:, 5:]), targets, pad=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    hidden = torch.full_like(entities, 2)
    with torch.no_grad():
        told = model.entity_logits(
            model.eval().bert.joint(tokens, hidden, mentions)[:, 5:]  # type: ignore[operator]
        ).argmax(-1)
    assert (told == entities).float().mean() > 0.9

"""A retriever trained by the loss of a masked language model alone, on generated facts. Page 6d.2.

    rows = load()                                             # the saved runs
    row = measure("REALM, warm", rate=3e-3, seed=0)           # {"recall": [...], "accuracy": ...}

A fact is a passage of five tokens, [CLS] a b value [SEP]: the entity's two names and a value. A
query names the same entity by other tokens, its aliases, so a query shares no word with its
passage: [CLS] a' b' [MASK] [SEP]. The token at [MASK] is the value. Each of the 16 first names has
one alias and so has each of the 16 second names, which makes 256 entities. A quarter of them are
test entities, whose passages are in the index but which no training query is about.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from deepdive.models.bert.bert import TINY, bert
from deepdive.models.bert.pretraining import for_masked_lm
from deepdive.models.bert.realm import Realm, RealmEmbedder

NAMES, VALUES, CLS, SEP, MASK = 16, 32, 1, 2, 3
FIRST, SECOND, ALIAS1, ALIAS2, VALUE = (4 + NAMES * i for i in range(5))
VOCABULARY = VALUE + VALUES
ENTITIES = NAMES * NAMES
BATCH, STEPS, CHECKS = 32, 1000, 10
WARM_STEPS = 100


class World(NamedTuple):
    """Passages (256, 5), queries (256, 4), values (256,), and training and test entities."""

    passages: Tensor
    queries: Tensor
    values: Tensor
    train: Tensor
    test: Tensor


def world(seed: int, values_seed: int = 0) -> World:
    """Return the facts of a seed; `values_seed` gives every entity another value."""
    generator = torch.Generator().manual_seed(seed)
    alias1, alias2 = (torch.randperm(NAMES, generator=generator) for _ in range(2))
    order = torch.randperm(ENTITIES, generator=generator)
    values = torch.randint(
        VALUES, (ENTITIES,), generator=torch.Generator().manual_seed(1000 * seed + values_seed)
    )
    a, b = torch.arange(ENTITIES) // NAMES, torch.arange(ENTITIES) % NAMES
    cls, sep, mask = (torch.full((ENTITIES,), t) for t in (CLS, SEP, MASK))
    return World(
        torch.stack((cls, FIRST + a, SECOND + b, VALUE + values, sep), 1),
        torch.stack((cls, ALIAS1 + alias1[a], ALIAS2 + alias2[b], mask, sep), 1),
        VALUE + values,
        order[ENTITIES // 4 :],
        order[: ENTITIES // 4],
    )


def model(seed: int) -> Realm:
    """Return an embedder of one layer for queries and passages, and a reader of two layers."""
    torch.manual_seed(seed)
    size: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "max_length": 16,
        "d_model": 32,
        "n_layers": 1,
    }
    embedder = RealmEmbedder(bert(TINY, **size), 32)
    return Realm(embedder, for_masked_lm(bert(TINY, **size)))
